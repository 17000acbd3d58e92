/** One point of a figure of latency against load, and the lines that such points make. */
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S, NS_PER_US } from "../../../src/base/units.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import { bucketed } from "../../../src/policy/baselines/bucketed.ts";
import { merged } from "../../../src/policy/baselines/merged.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { late } from "../../../src/policy/late_batching/late.ts";
import type { Launch } from "../../../src/policy/launch.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { ChartData, Context, Series } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { type ModelName, requestsOf } from "./datasets.ts";
import { v100 } from "./device.ts";
import { ideal } from "./ideal.ts";
import { titanX, titanXLinear } from "./titan_x.ts";

/** A system under load; what decides its points, with the rate and the seed. */
export type System = {
  readonly model: ModelName;
  readonly data: string;
  readonly policy: "cellular" | "bucketed" | "merged" | "ideal" | "late";
  readonly batchSizeMax: number | { readonly [cell: string]: number };
  readonly device?: keyof typeof DEVICES;
  readonly gpus?: number;
  readonly bucketWidth?: number;
  readonly maxTasksToSubmit?: number;
  readonly pushAhead?: number;
  /** Device time on top of every task. */
  readonly overheadUs?: number;
  /** Host time of every task. */
  readonly submitUs?: number;
  /** Host time of merging: per node, and as a share of what the merged graph takes. */
  readonly mergeNodeUs?: number;
  readonly mergeShare?: number;
  /** Factor on the device's times. */
  readonly slower?: number;
};

/** Percentiles in ms over the requests that came after the first fifth. */
export type LoadPoint = {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  /** Departures per second from a fifth of the arrivals' time to its end. */
  readonly perS: number;
  /** Rows of the batch that a row was in. */
  readonly rows: number;
  /** Queueing, and computation from the first task on, at QUANTILES. */
  readonly waitsMs: readonly number[];
  readonly computesMs: readonly number[];
};

export const QUANTILES: readonly number[] = [
  ...Array.from({ length: 19 }, (_, i) => (i + 1) / 20),
  0.99,
];

/** Costs by the device's name. */
const DEVICES = {
  "V100": (system: System) => v100(system),
  "Titan X": titanX,
  "Titan X, linear": titanXLinear,
};

const WARM_UP = 1 / 5;

function policyOf(system: System): Policy {
  const { batchSizeMax, bucketWidth, maxTasksToSubmit, pushAhead } = system;
  if (system.policy === "cellular") {
    return cellular({
      batchSizeMax,
      ...(maxTasksToSubmit !== undefined && { maxTasksToSubmit }),
    });
  }
  if (typeof batchSizeMax !== "number") {
    throw new RangeError(`${system.policy} has one limit for all cells`);
  }
  switch (system.policy) {
    case "bucketed":
      return bucketed({
        batchSizeMax,
        ...(bucketWidth !== undefined && { bucketWidth }),
      });
    case "merged":
      return merged({ batchSizeMax });
    case "ideal":
      return ideal(batchSizeMax);
    case "late":
      return late({
        batchSizeMax,
        ...(pushAhead !== undefined && { pushAhead }),
      });
  }
}

/** Host time of merging a launch's graphs, if any. */
function mergingNs(
  { mergeNodeUs = 0, mergeShare = 0 }: System,
  cost: CostModel,
): ((launch: Launch) => number) | undefined {
  if (mergeNodeUs === 0 && mergeShare === 0) return undefined;
  return ({ steps }) => {
    let ns = 0;
    for (const { cell, nodes } of steps) {
      ns += mergeNodeUs * NS_PER_US * nodes.length;
      if (nodes.length > 0) {
        ns += mergeShare * cost.latencyNs(cell, nodes.length);
      }
    }
    return Math.round(ns);
  };
}

/** Simulates a system at one rate. */
export function loadPoint(
  system: System,
  ratePerS: number,
  requests: number,
  seed: number,
): LoadPoint {
  const { model, data, gpus = 1, device = "V100", submitUs = 0 } = system;
  const cost = DEVICES[device](system);
  const arrivals = requestsOf({ model, data, ratePerS, requests, seed });
  const launchNs = mergingNs(system, cost);
  const { latenciesNs, waitsNs, rowsSeen } = simulate({
    policy: policyOf(system),
    cost,
    workers: gpus,
    arrivals,
    submitNs: submitUs * NS_PER_US,
    ...(launchNs && { launchNs }),
  });
  const first = Math.floor(WARM_UP * requests);
  const fromNs = arrivals[first].arrivalNs;
  const toNs = arrivals[requests - 1].arrivalNs;
  let departed = 0;
  for (let i = 0; i < requests; i++) {
    const endNs = arrivals[i].arrivalNs + latenciesNs[i];
    if (endNs > fromNs && endNs <= toNs) departed++;
  }
  const sorted = ascending(latenciesNs.subarray(first));
  const waits = ascending(waitsNs.subarray(first));
  const computes = ascending(
    latenciesNs.subarray(first).map((ns, i) => ns - waitsNs[first + i]),
  );
  const at = (values: Float64Array, p: number) =>
    percentile(values, p) / NS_PER_MS;
  return {
    p50Ms: at(sorted, 0.5),
    p90Ms: at(sorted, 0.9),
    p99Ms: at(sorted, 0.99),
    perS: departed / (toNs - fromNs) * NS_PER_S,
    rows: rowsSeen,
    waitsMs: QUANTILES.map((p) => at(waits, p)),
    computesMs: QUANTILES.map((p) => at(computes, p)),
  };
}

/** A rate's points over the seeds. */
export interface Measured {
  readonly ratePerS: number;
  readonly points: readonly LoadPoint[];
}

/** A line of a figure. */
export interface Line {
  readonly name: string;
  readonly measured: readonly Measured[];
}

/** Requests arrive for so long, and are so many at least. */
export interface Extent {
  readonly seconds: number;
  /** At the last rate, which is meant to be too much: what departs then is the peak. */
  readonly overloadSeconds: number;
  readonly requestsMin: number;
}

export const EXTENT: Extent = {
  seconds: 1,
  overloadSeconds: 2,
  requestsMin: 1000,
};

/** What --quick measures of an extent. */
const QUICK_SHARE = 0.3;

/** Measures a system at several rates, over the context's seeds. */
export async function measureLine(
  context: Context,
  name: string,
  system: System,
  ratesPerS: readonly number[],
  { seconds, overloadSeconds, requestsMin }: Extent = EXTENT,
): Promise<Line> {
  const share = context.quick ? QUICK_SHARE : 1;
  const measured: Measured[] = [];
  for (const ratePerS of ratesPerS) {
    const isLast = ratePerS === ratesPerS[ratesPerS.length - 1];
    const requests = Math.ceil(
      Math.max(
        requestsMin,
        share * ratePerS * (isLast ? overloadSeconds : seconds),
      ),
    );
    const points: LoadPoint[] = [];
    for (let run = 0; run < context.runs; run++) {
      const seed = context.seed + run;
      points.push(
        await context.point(
          { cellular: "load", ...system, ratePerS, requests, seed },
          () => loadPoint(system, ratePerS, requests, seed),
        ),
      );
    }
    measured.push({ ratePerS, points });
  }
  return { name, measured };
}

export type Figure = "p50Ms" | "p90Ms" | "p99Ms" | "perS" | "rows";

/** Mean of a figure over the seeds. */
export function meanOf({ points }: Measured, figure: Figure): number {
  return mean(points.map((point) => point[figure]));
}

/** The mean of a figure at a rate that was measured. */
export function valueAt(line: Line, ratePerS: number, figure: Figure): number {
  const found = line.measured.find((one) => one.ratePerS === ratePerS);
  if (found === undefined) throw new RangeError(`${line.name}: ${ratePerS}/s`);
  return meanOf(found, figure);
}

/** Most departures per second at any rate. */
export function peakOf({ measured }: Line): number {
  return Math.max(...measured.map((one) => meanOf(one, "perS")));
}

/** Least mean of a figure at any rate. */
export function leastOf({ measured }: Line, figure: Figure): number {
  return Math.min(...measured.map((one) => meanOf(one, figure)));
}

/** Latency against the throughput that was reached, as the paper's figures have it. */
export function latencyChart(
  title: string,
  lines: readonly Line[],
  figure: "p50Ms" | "p90Ms" | "p99Ms" = "p90Ms",
): ChartData {
  const series = lines.map(({ name, measured }): Series => ({
    name,
    points: measured.map((one) => {
      const values = ascending(one.points.map((point) => point[figure]));
      return {
        x: meanOf(one, "perS"),
        y: meanOf(one, figure),
        low: percentile(values, 0.25),
        high: percentile(values, 0.75),
      };
    }),
  }));
  return {
    kind: "lines",
    title,
    x: "throughput (requests/s)",
    y: `${figure.slice(1, 3)}th percentile of latency (ms)`,
    logY: true,
    series,
  };
}
