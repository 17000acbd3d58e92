/** One policy on one network at one rate: the points that LazyBatching's figures are made of. */
import { Prng } from "../../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Context } from "../experiment.ts";
import { type Outcome, simulate } from "../simulation.ts";
import type { Device } from "./devices.ts";
import { type NetworkName, networkOn } from "./networks.ts";
import { policyOf, type PolicySpec, SLA_MS, SLAS_MS } from "./policies.ts";

export interface RunSpec {
  readonly network: NetworkName;
  readonly device: Device;
  readonly policy: PolicySpec;
  readonly ratePerS: number;
  /** What slack counts down from; default 100 ms. */
  readonly slaMs?: number;
}

/** What a run came to. */
export type Run = {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly perS: number;
  /** Device time that a request took. */
  readonly workUs: number;
  /** Rows of the batch that a row was in, on average, and of the largest batch. */
  readonly rowsSeen: number;
  readonly rowsMax: number;
  /** Refusals of slack per request. */
  readonly refused: number;
  /** Share of requests over each of `SLAS_MS`. */
  readonly late: readonly number[];
  /** Latency at each of `SHARES`, ms. */
  readonly cdfMs: readonly number[];
};

/** Shares at which a distribution is kept. */
export const SHARES = [
  0.01,
  ...Array.from({ length: 19 }, (_, i) => (i + 1) / 20),
  0.99,
  1,
] as const;

/** Requests of a run: a second's, and enough of them. */
export function requestsAt(ratePerS: number, { quick }: Context): number {
  return quick
    ? Math.max(60, Math.round(ratePerS / 4))
    : Math.max(300, ratePerS);
}

/** The run with each of the context's seeds. */
export async function runsOf(
  context: Context,
  spec: RunSpec,
  runs = context.runs,
): Promise<Run[]> {
  const { seed } = context;
  const { network, device, policy, ratePerS, slaMs = SLA_MS } = spec;
  const requests = requestsAt(ratePerS, context);
  const results: Run[] = [];
  for (let run = 0; run < runs; run++) {
    results.push(
      await context.point(
        {
          paper: "lazybatching",
          network,
          device,
          policy,
          ratePerS,
          // Only LazyBatching and Oracle know the SLA.
          ...((policy.kind === "lazy" || policy.kind === "oracle") &&
            { slaMs }),
          requests,
          seed,
          run,
        },
        () => {
          const served = networkOn(network, device, seed);
          const { cost, decTimesteps } = served;
          const prng = new Prng(seed).fork(`run ${run}`);
          const inputs = prng.fork("inputs");
          const arrivals = poisson({ ratePerS })
            .timesNs(requests, prng.fork("arrivals"))
            .map((arrivalNs) => ({ ...served.request(inputs), arrivalNs }));
          const profile = cost.latencyNs.bind(cost);
          return summary(simulate({
            policy: policyOf(policy, {
              profile: (cell, rows, extent) => profile(cell, rows, extent),
              slaMs,
              decTimesteps,
            }),
            cost,
            arrivals,
          }));
        },
      ),
    );
  }
  return results;
}

export function summary(outcome: Outcome): Run {
  const { sortedNs, ops } = outcome;
  return {
    meanMs: outcome.meanMs,
    p99Ms: outcome.p99Ms,
    perS: outcome.perS,
    workUs: outcome.workUs,
    rowsSeen: outcome.rowsSeen,
    rowsMax: outcome.rowsMax,
    refused: (ops.refuse ?? 0) / sortedNs.length,
    late: lateShares(sortedNs),
    cdfMs: SHARES.map((share) => percentile(sortedNs, share) / NS_PER_MS),
  };
}

/** Share of latencies over each of the targets. */
export function lateShares(latenciesNs: Float64Array): number[] {
  return SLAS_MS.map((slaMs) =>
    latenciesNs.filter((ns) => ns > slaMs * NS_PER_MS).length /
    latenciesNs.length
  );
}

/** Mean of a figure over runs. */
export function averageOf(
  runs: readonly Run[],
  of: (run: Run) => number,
): number {
  return mean(runs.map(of));
}

/** A chart's point: the mean over runs, and the 25th and 75th percentile (section VI-A's error bars). */
export function spreadOf(
  x: number,
  runs: readonly Run[],
  of: (run: Run) => number,
): { x: number; y: number; low: number; high: number } {
  const sorted = ascending(runs.map(of));
  return {
    x,
    y: mean(sorted),
    low: percentile(sorted, ERROR_BARS[0] / 100),
    high: percentile(sorted, ERROR_BARS[1] / 100),
  };
}

/** Percentiles that error bars reach to. */
export const ERROR_BARS = [25, 75] as const;
