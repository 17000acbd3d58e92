/** Prints what bench/papers/dvabatch.ts found, beside the published figures. */
import type { LoadResult, NetworkResult, SystemResult } from "./dvabatch.ts";
import { percent, row } from "../reproduce/simulation.ts";

const LOADS = ["low", "medium", "high"] as const;

/** Sections 8.2 (mean over six networks): reductions at low, medium and high load. */
const PUBLISHED = {
  ZeroBatch: { mean: "16.1, 39.0, 57.7", tail: "16.9, 27.4, 53.7" },
  DelayBatch: { mean: "35.4, 47.3, 48.5", tail: "45.2, 45.1, 29.2" },
} as const;

export function printResult(
  { network, workload, windowMs, systems, variants }: NetworkResult,
): void {
  console.log(
    `\n${network}${
      workload && `, ${workload}`
    }: DelayBatch's window is ${windowMs} ms`,
  );
  row("mean / p99 ms, rows seen", [...LOADS, "peak/s"], 24);
  for (const { system, loads, peakPerS } of [...systems, ...variants]) {
    row(system, [
      ...LOADS.map((load) => cell(loads[load])),
      peakPerS.toFixed(0),
    ], 24);
  }
  const [zero, delay, whole] = systems as [
    SystemResult,
    SystemResult,
    SystemResult,
  ];
  const compared = [
    whole,
    ...variants.filter(({ system }) =>
      system === "no window" || system === "policy II+III, 5 % tolerance"
    ),
  ];
  for (const dva of compared) {
    for (const base of [zero, delay]) printReduction(dva, base);
  }
}

function printReduction(dva: SystemResult, base: SystemResult): void {
  const less = (of: (result: LoadResult) => number) =>
    LOADS.map((load) => percent(1 - of(dva.loads[load]) / of(base.loads[load])))
      .join(", ");
  const published = PUBLISHED[base.system as keyof typeof PUBLISHED];
  console.log(
    `${
      dva.system === "DVABatch" ? "DVABatch" : `DVABatch, ${dva.system},`
    } below ${base.system}: mean ${
      less(({ meanMs }) => meanMs)
    } (published over six networks ${published.mean} %), 99th percentile ${
      less(({ p99Ms }) => p99Ms)
    } (${published.tail} %); peak ${
      percent(dva.peakPerS / base.peakPerS - 1)
    } more`,
  );
}

function cell({ meanMs, p99Ms, rowsSeen }: LoadResult): string {
  return `${meanMs.toFixed(1)} / ${p99Ms.toFixed(0)}, ${rowsSeen.toFixed(1)}`;
}
