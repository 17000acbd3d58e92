/**
 * What Fig. 12 to 15 are all drawn from: every policy of section VI over arrival rates and SLA targets, and
 * how one is set against the others.
 */
import { mean } from "../../../src/base/statistics.ts";
import type { ChartData, Context, Series, TableData } from "../experiment.ts";
import { percent } from "../simulation.ts";
import { type Device, deviceTitle } from "./devices.ts";
import { type NetworkName, TABLE_II, workloadOf } from "./networks.ts";
import {
  graphB,
  LAZYB,
  ORACLE,
  type PolicySpec,
  SERIAL,
  SLA_MS,
  SLAS_MS,
  WINDOWS_MS,
} from "./policies.ts";
import { averageOf, type Run, runsOf, spreadOf } from "./runs.ts";

/** Arrival rates, requests/s: Fig. 5's three, the heavy load of Fig. 14 and 15, and what lies between. */
export const RATES = [16, 64, 250, 500, 1000, 1500, 2000] as const;
const QUICK_RATES = [16, 250, 1000] as const;

/** Section VI-A and VI-B: the heavy load. */
export const HEAVY_RATE = 1000;

export function ratesOf({ quick }: Context): readonly number[] {
  return quick ? QUICK_RATES : RATES;
}

/** The three networks of Table II. */
export const MAIN_NETWORKS = ["resnet50", "gnmt", "transformer"] as const;

/**
 * The NPU of Table I, scaled to Table II's time alone: what claims are judged by. Both are inputs of the
 * evaluation, not results.
 */
export function judged(network: NetworkName): Device {
  const times: Partial<Record<NetworkName, number>> = TABLE_II;
  const aloneMs = times[network];
  return { kind: "npu", ...(aloneMs !== undefined && { aloneMs }) };
}

/** The NPU of Table I as it comes out of the model. */
export const AS_MODELLED: Device = { kind: "npu" };

export const POLICIES: Readonly<Record<string, PolicySpec>> = {
  LazyB: LAZYB,
  Oracle: ORACLE,
  Serial: SERIAL,
  ...Object.fromEntries(WINDOWS_MS.map((ms) => [`GraphB(${ms})`, graphB(ms)])),
};

/** Names of the graph batching configurations. */
export const WINDOWS = WINDOWS_MS.map((ms) => `GraphB(${ms})`);

/** Runs by policy and rate. */
export interface Sweep {
  readonly network: NetworkName;
  readonly device: Device;
  readonly rates: readonly number[];
  readonly byPolicy: ReadonlyMap<string, readonly (readonly Run[])[]>;
}

export interface SweepOptions {
  readonly rates?: readonly number[];
  readonly policies?: Readonly<Record<string, PolicySpec>>;
  readonly runs?: number;
}

export async function sweep(
  context: Context,
  network: NetworkName,
  device: Device,
  { rates = ratesOf(context), policies = POLICIES, runs = context.runs }:
    SweepOptions = {},
): Promise<Sweep> {
  const byPolicy = new Map<string, Run[][]>();
  for (const [name, policy] of Object.entries(policies)) {
    const points: Run[][] = [];
    for (const ratePerS of rates) {
      points.push(
        await runsOf(context, { network, device, policy, ratePerS }, runs),
      );
    }
    byPolicy.set(name, points);
  }
  return { network, device, rates, byPolicy };
}

/** A figure of a policy at every rate, averaged over runs. */
export function figures(
  { byPolicy }: Sweep,
  policy: string,
  of: (run: Run) => number,
): number[] {
  return byPolicy.get(policy)!.map((runs) => averageOf(runs, of));
}

export const latency = ({ meanMs }: Run): number => meanMs;
export const throughput = ({ perS }: Run): number => perS;

export interface Gains {
  /** LazyB over each window, averaged over rates, in the order of the windows. */
  readonly byWindow: readonly number[];
  /** Over the best window: the one that leaves least to gain over all rates. */
  readonly best: number;
  readonly bestWindow: string;
  /** Over the best window of each rate. */
  readonly bestOfEach: number;
  /** By rate, over that rate's best window. */
  readonly byRate: readonly number[];
  /** Averaged over the windows. */
  readonly average: number;
}

/** What LazyB gains over graph batching. */
export function gainsOf(
  swept: Sweep,
  what: "latency" | "throughput",
  windows: readonly string[] = WINDOWS,
): Gains {
  const of = what === "latency" ? latency : throughput;
  const lazyB = figures(swept, "LazyB", of);
  const byRateAndWindow = windows.map((window) =>
    figures(swept, window, of).map((figure, r) =>
      what === "latency" ? figure / lazyB[r] : lazyB[r] / figure
    )
  );
  const byWindow = byRateAndWindow.map(mean);
  const best = Math.min(...byWindow);
  const byRate = lazyB.map((_, r) =>
    Math.min(...byRateAndWindow.map((gains) => gains[r]))
  );
  return {
    byWindow,
    best,
    bestWindow: windows[byWindow.indexOf(best)],
    bestOfEach: mean(byRate),
    byRate,
    average: mean(byWindow),
  };
}

/** Lines over the rates, one for each policy, with the spread over runs. */
export function overRates(
  swept: Sweep,
  of: (run: Run) => number,
): Series[] {
  return [...swept.byPolicy].map(([name, points]) => ({
    name,
    points: points.map((runs, r) => spreadOf(swept.rates[r], runs, of)),
  }));
}

/** The network and the device in a title. */
export function titleOf(network: NetworkName, device: Device): string {
  return `${workloadOf(network).title}, ${deviceTitle(device)}`;
}

export function rateChart(
  swept: Sweep,
  title: string,
  y: string,
  of: (run: Run) => number,
): ChartData {
  return {
    kind: "lines",
    title: `${title}: ${titleOf(swept.network, swept.device)}`,
    x: "requests/s",
    y,
    logX: true,
    logY: true,
    series: overRates(swept, of),
  };
}

/** Late shares by policy and target, at the heavy load. */
export interface LateShares {
  readonly network: NetworkName;
  readonly device: Device;
  /** By policy, a share for each of `SLAS_MS`. */
  readonly byPolicy: ReadonlyMap<string, readonly number[]>;
}

/** Fig. 15: LazyB and Oracle are told each target, the others do not know it. */
export async function lateShares(
  context: Context,
  network: NetworkName,
  device: Device,
  { policies = POLICIES, runs = context.runs, ratePerS = HEAVY_RATE }:
    & Omit<SweepOptions, "rates">
    & { readonly ratePerS?: number } = {},
): Promise<LateShares> {
  const byPolicy = new Map<string, number[]>();
  for (const [name, policy] of Object.entries(policies)) {
    const isAware = policy.kind === "lazy" || policy.kind === "oracle";
    const shares: number[] = [];
    for (const [i, slaMs] of SLAS_MS.entries()) {
      const spec = { network, device, policy, ratePerS };
      const results = await runsOf(
        context,
        isAware ? { ...spec, slaMs } : { ...spec, slaMs: SLA_MS },
        runs,
      );
      shares.push(averageOf(results, ({ late }) => late[i]));
    }
    byPolicy.set(name, shares);
  }
  return { network, device, byPolicy };
}

/** A window as wide as the target or wider is of no use there: Fig. 15 leaves such points out. */
export function isPractical(policy: string, slaMs: number): boolean {
  const window = WINDOWS.indexOf(policy);
  return window < 0 || WINDOWS_MS[window] < slaMs;
}

export function lateTable(
  { network, device, byPolicy }: LateShares,
): TableData {
  return {
    title: `Late at ${HEAVY_RATE}/s: ${titleOf(network, device)}`,
    columns: ["policy", ...SLAS_MS.map((ms) => `${ms} ms`)],
    rows: [...byPolicy].map(([policy, shares]) => [
      policy,
      ...shares.map((share, i) =>
        isPractical(policy, SLAS_MS[i]) ? percent(share) : "-"
      ),
    ]),
  };
}

/**
 * Share of requests in time, LazyB's over graph batching's, averaged over targets and the windows that
 * are practical for them.
 * Assumption: "SLA satisfaction" is the share in time; the paper does not define it.
 */
export function satisfaction({ byPolicy }: LateShares): number {
  const inTime = (policy: string) =>
    byPolicy.get(policy)!.flatMap((share, i) =>
      isPractical(policy, SLAS_MS[i]) ? [1 - share] : []
    );
  return mean(inTime("LazyB")) / mean(WINDOWS.flatMap(inTime));
}
