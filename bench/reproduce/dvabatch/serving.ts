/**
 * Runs of DVABatch and its baselines (section 8.1) on the modelled GPU, each a point of the cache.
 * A stage executor has a stream of its own; the baselines run one batch at a time.
 */
import { Prng } from "../../../src/base/prng.ts";
import { ascending, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S, NS_PER_US } from "../../../src/base/units.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { BASELINES } from "../../../src/policy/baselines/search_window.ts";
import {
  dvabatch,
  type DvaBatchOptions,
} from "../../../src/policy/dvabatch/dvabatch.ts";
import {
  durationNs,
  PROFILED_SIZES,
  timeEven,
} from "../../../src/policy/dvabatch/stages.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Context } from "../experiment.ts";
import { peakRequests, simulate } from "../simulation.ts";
import { network } from "./networks.ts";

/** Section 8.1. */
export const SETUP = {
  batchSizeMax: 64,
  qosMs: 200,
  /** Shares of the peak. */
  loads: { low: 1 / 4, medium: 3 / 5, high: 9 / 10 },
} as const;

export type Load = keyof typeof SETUP.loads;

export const LOADS = Object.keys(SETUP.loads) as readonly Load[];

/** Options of `dvabatch` that say everything when they are written down. */
export type DvaSettings =
  & Omit<DvaBatchOptions, "profile" | "schedule">
  // deno-lint-ignore ban-types -- an index signature, which an interface does not have
  & {};

/** A policy as data: what it is and all that it is made with but the profile. */
export type System =
  | { readonly baseline: "ZeroBatch"; readonly streams?: number }
  | { readonly baseline: "DelayBatch"; readonly windowMs: number }
  | {
    readonly dvabatch: DvaSettings;
    /** What every stage of a batch takes on top, us; default 0. */
    readonly stageUs?: number;
  };

/** What is kept of a run. */
export type Run = {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly perS: number;
  /** Rows of the batch that a row was in, on average. */
  readonly rowsSeen: number;
  readonly utilisation: number;
  /** Batches that were made, and their median size. */
  readonly batches: number;
  readonly medianBatch: number;
  /** Of them: were split, were stretched. */
  readonly splits: number;
  readonly stretches: number;
};

/** DVABatch as the paper sets it up for a network, with something changed. */
export function dva(name: string, changed: DvaSettings = {}): System {
  const { policy, stages } = network(name);
  return {
    dvabatch: { policy, stages, batchSizeMax: SETUP.batchSizeMax, ...changed },
  };
}

export function policyOf(system: System, name: string): Policy {
  if ("dvabatch" in system) {
    return dvabatch({ ...system.dvabatch, profile: network(name).profile });
  }
  const { baseline } = system;
  const windowMs = "windowMs" in system ? system.windowMs : 0;
  return graph(
    BASELINES[baseline]({
      windowNs: windowMs * NS_PER_MS,
      batchSizeMax: SETUP.batchSizeMax,
    }),
  );
}

/** Streams of the device: one per stage executor, and two where one executor would make it serial. */
export function streamsOf(system: System): number {
  if (!("dvabatch" in system)) {
    return "streams" in system ? system.streams ?? 1 : 1;
  }
  const { stages } = system.dvabatch;
  return typeof stages === "number" ? Math.max(2, stages) : 8;
}

/** Requests of a run at a rate: as many as come in a few seconds, or an overload would end before it is felt. */
export function requestsAt({ quick }: Context, ratePerS: number): number {
  const { seconds, min, max } = quick
    ? { seconds: 1, min: 400, max: 2000 }
    : { seconds: 4, min: 1500, max: 8000 };
  return Math.round(Math.min(max, Math.max(min, ratePerS * seconds)));
}

export function simulateAt(
  system: System,
  name: string,
  { ratePerS, requests, seed }: {
    ratePerS: number;
    requests: number;
    seed: number;
  },
): Run {
  const { request } = network(name);
  const prng = new Prng(seed).fork(name);
  const inputs = prng.fork("inputs");
  const arrivals = poisson({ ratePerS })
    .timesNs(requests, prng.fork("arrivals"))
    .map((arrivalNs) => ({ ...request(inputs), arrivalNs }));
  const sizes: number[] = [];
  const { meanMs, p99Ms, perS, rowsSeen, utilisation, ops } = simulate({
    policy: policyOf(system, name),
    cost: costOf(system, name),
    workers: streamsOf(system),
    arrivals,
    observer: {
      decided(_atNs, { notes = [] }) {
        for (const { op, requests } of notes) {
          if (op === "new") sizes.push(requests.length);
        }
      },
    },
  });
  return {
    meanMs,
    p99Ms,
    perS,
    rowsSeen,
    utilisation,
    batches: sizes.length,
    medianBatch: sizes.length > 0 ? percentile(ascending(sizes), 0.5) : 0,
    splits: ops.split ?? 0,
    stretches: ops.stretch ?? 0,
  };
}

/** The network's cost, with what each stage takes on top charged to its first cell. */
export function costOf(system: System, name: string): SharedCost {
  const { cost, model, profile } = network(name);
  if (!("dvabatch" in system) || !system.stageUs) return cost;
  const { stageUs, dvabatch: { stages, batchSizeMax } } = system;
  const first = new Set(
    timeEven(model, stages as number, profile, batchSizeMax!)
      .map(([cell]) => cell),
  );
  return {
    latencyNs: (cell, rows, extents) =>
      cost.latencyNs(cell, rows, extents) +
      (first.has(cell) ? stageUs * NS_PER_US : 0),
    demand: (cell, rows, extents) => cost.demand(cell, rows, extents),
  };
}

/** Runs of a system at a rate, one for each seed. */
export async function runsAt(
  context: Context,
  system: System,
  name: string,
  ratePerS: number,
): Promise<Run[]> {
  const requests = requestsAt(context, ratePerS);
  const runs: Run[] = [];
  for (let i = 0; i < context.runs; i++) {
    const seed = context.seed + i;
    runs.push(
      await context.point(
        { run: system, network: name, ratePerS, requests, seed } as never,
        () => simulateAt(system, name, { ratePerS, requests, seed }),
      ),
    );
  }
  return runs;
}

/**
 * The highest steady rate at which the 99th percentile keeps the QoS target, requests per second.
 * Assumption: "latency" of section 8.3's peak is the 99th percentile.
 */
export function peakPerS(
  context: Context,
  system: System,
  name: string,
): Promise<number> {
  const { seed, quick } = context;
  const sloNs = SETUP.qosMs * NS_PER_MS;
  return context.point(
    { peak: system, network: name, quick, seed } as never,
    () => {
      const holds = (ratePerS: number) =>
        simulateAt(system, name, {
          ratePerS,
          requests: peakRequests(context, ratePerS, sloNs),
          seed,
        }).p99Ms < SETUP.qosMs;
      return searchPeak(
        capacityPerS(name),
        quick ? 0.02 : 0.01,
        holds,
      );
    },
  );
}

/** What the device would do with batches of the best profiled size only. */
export function capacityPerS(name: string): number {
  const { model, profile } = network(name);
  return Math.max(
    ...PROFILED_SIZES.map((size) =>
      size * NS_PER_S / durationNs(model.cells, size, profile)
    ),
  );
}

/**
 * Highest rate for which `holds`, to a share of it, looked for around a guess.
 * @returns 0 when it does not hold at a thousandth of the guess
 */
export function searchPeak(
  guess: number,
  tolerance: number,
  holds: (ratePerS: number) => boolean,
): number {
  let step = 1.25;
  let [low, high] = [guess, guess * step];
  if (holds(guess)) {
    while (holds(high)) [low, high] = [high, high * (step *= step)];
  } else {
    [low, high] = [guess / step, guess];
    while (!holds(low)) {
      [low, high] = [low / (step *= step), low];
      if (high < guess / 1000) return 0;
    }
  }
  while (high / low > 1 + tolerance) {
    const middle = Math.sqrt(low * high);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
