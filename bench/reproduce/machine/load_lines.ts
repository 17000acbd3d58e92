/** Policies under load on this machine: what most of its experiments measure and draw. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import type { Series, TableData } from "../experiment.ts";
import type { Measured, PolicyChoice, Served } from "./served.ts";

/** Policies by the name that they have in charts. */
export type Choices = Readonly<Record<string, PolicyChoice>>;

/** Runs of a policy at a rate. */
export interface Loaded {
  readonly name: string;
  /** Of the best policy's peak. */
  readonly share: number;
  readonly ratePerS: number;
  readonly runs: readonly Measured[];
}

/** Peaks of policies, requests per second. */
export async function peaks(
  served: Served,
  choices: Choices,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const [name, choice] of Object.entries(choices)) {
    found.set(name, await served.peakPerS(choice));
  }
  return found;
}

/** Every policy at shares of a peak. */
export async function underLoad(
  served: Served,
  choices: Choices,
  { peakPerS, shares }: { peakPerS: number; shares: readonly number[] },
): Promise<Loaded[]> {
  const loaded: Loaded[] = [];
  for (const share of shares) {
    for (const [name, choice] of Object.entries(choices)) {
      const ratePerS = Number((share * peakPerS).toPrecision(3));
      const runs = await served.runs(choice, ratePerS);
      loaded.push({ name, share, ratePerS, runs });
    }
  }
  return loaded;
}

export type Figure =
  & Exclude<keyof Measured, "quantilesMs" | number>
  & ("perS" | "meanMs" | "p50Ms" | "p90Ms" | "p99Ms" | "meanRows");

/** A line for each policy: a figure against the rate or the throughput, with its spread over runs. */
export function lines(
  loaded: readonly Loaded[],
  y: Figure,
  x: "ratePerS" | "perS",
): Series[] {
  const names = [...new Set(loaded.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    points: loaded.filter((one) => one.name === name).map((one) => {
      const values = ascending(one.runs.map((run) => run[y]));
      return {
        x: x === "ratePerS"
          ? one.ratePerS
          : mean(one.runs.map(({ perS }) => perS)),
        y: percentile(values, 0.5),
        low: percentile(values, 0.25),
        high: percentile(values, 0.75),
      };
    }),
  }));
}

export function loadTable(
  title: string,
  loaded: readonly Loaded[],
): TableData {
  const average = (runs: readonly Measured[], of: Figure) =>
    mean(runs.map((run) => run[of]));
  return {
    title,
    columns: [
      ...["policy", "load, %", "due/s", "done/s", "mean, ms", "p50, ms"],
      ...["p90, ms", "p99, ms", "rows a row saw"],
    ],
    rows: loaded.map(({ name, share, ratePerS, runs }) => [
      name,
      Math.round(100 * share),
      ratePerS,
      average(runs, "perS"),
      average(runs, "meanMs"),
      average(runs, "p50Ms"),
      average(runs, "p90Ms"),
      average(runs, "p99Ms"),
      average(runs, "meanRows"),
    ]),
  };
}

export function peakTable(peaks: ReadonlyMap<string, number>): TableData {
  const most = Math.max(...peaks.values());
  return {
    title: "Peak throughput",
    columns: ["policy", "requests/s", "of the best, %"],
    rows: [...peaks].map(([name, perS]) => [name, perS, 100 * perS / most]),
  };
}
