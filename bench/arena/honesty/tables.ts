/** What was predicted beside what was measured, and how far off that is in all. */
import { ascending, percentile } from "../../../src/base/statistics.ts";
import { formatNumber } from "../../../src/report/format.ts";
import type { Table } from "../../../src/report/table.ts";
import type { Comparison, Figures } from "./compare.ts";

/** One that was run. */
type Run = Comparison & { predicted: Figures; measured: Figures };

/** What errors are of. */
const ERRORS: readonly (readonly [string, (run: Run) => number])[] = [
  ["p50", ({ predicted, measured }) => predicted.p50Ms / measured.p50Ms - 1],
  ["p99", ({ predicted, measured }) => predicted.p99Ms / measured.p99Ms - 1],
  [
    "goodput",
    ({ predicted, measured, ratePerS }) =>
      (predicted.goodputPerS - measured.goodputPerS) / ratePerS,
  ],
];

function runs(comparisons: readonly Comparison[]): Run[] {
  return comparisons.filter((one): one is Run => one.predicted !== undefined);
}

/** Every policy at every load. */
export function comparisonTable(comparisons: readonly Comparison[]): Table {
  const right = (title: string, meaning?: string) => ({
    title,
    align: "right" as const,
    ...(meaning !== undefined && { meaning }),
  });
  return {
    columns: [
      { title: "model" },
      { title: "policy" },
      right("load", "share of the capacity, which is that of the arena"),
      right("p50", "ms, measured"),
      right("off", "predicted, relative to measured"),
      right("p99", "ms, measured"),
      right("off"),
      right("goodput", "measured share of the requests within the target"),
      right("off, points", "predicted share less the measured one"),
    ],
    keys: 3,
    rows: comparisons.map((one) => {
      const { model, policy, load, refused } = one;
      const [run] = runs([one]);
      const figures = run
        ? ERRORS.flatMap(([, error], i) => [
          i < 2
            ? formatNumber(i === 0 ? run.measured.p50Ms : run.measured.p99Ms)
            : run.measured.inTime.toFixed(3),
          percentText(error(run)),
        ])
        : [`refused: ${refused}`];
      return [model, policy, String(load), ...figures]
        .map((text) => ({ text }));
    }),
  };
}

/** By model and load: the error in the middle and the largest, regardless of its sign. */
export function errorTable(comparisons: readonly Comparison[]): Table {
  const groups = Map.groupBy(
    comparisons,
    ({ model, load }) => `${model} ${load}`,
  );
  return {
    columns: [
      { title: "model" },
      { title: "load", align: "right" },
      { title: "policies", align: "right" },
      { title: "refused", align: "right" },
      ...ERRORS.flatMap(([title]) => [
        { title, align: "right" as const, meaning: "median of the errors" },
        { title: "worst", align: "right" as const },
      ]),
    ],
    keys: 2,
    rows: [...groups.values()].map((of) => {
      const run = runs(of);
      const errors = ERRORS.flatMap(([, error]) => {
        const sorted = ascending(run.map((one) => Math.abs(error(one))));
        return sorted.length === 0
          ? ["-", "-"]
          : [percentile(sorted, 0.5), sorted[sorted.length - 1]]
            .map(percentText);
      });
      return [
        of[0].model,
        String(of[0].load),
        String(run.length),
        String(of.length - run.length),
        ...errors,
      ].map((text) => ({ text }));
    }),
  };
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
