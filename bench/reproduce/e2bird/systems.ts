/** TensorFlow Serving, N-Ebird and E-Ebird on a device, and what is measured of them. */
import { Prng } from "../../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_US } from "../../../src/base/units.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import { throughInStream } from "../../../src/engine/virtual/virtual_driver.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { BASELINES } from "../../../src/policy/baselines/search_window.ts";
import { eEbird } from "../../../src/policy/e2bird/e_ebird.ts";
import { nEbird } from "../../../src/policy/e2bird/n_ebird.ts";
import {
  RES152_CONFIGURATIONS,
  searchConfigurations,
  type SearchObjective,
} from "../../../src/policy/e2bird/offline.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Context } from "../experiment.ts";
import { highestRate, peakRequests, simulate } from "../simulation.ts";
import {
  type Device,
  latenciesTogetherNs,
  networkCost,
  withTransfers,
} from "./device.ts";
import { CELL, MODEL, type NetworkName } from "./networks.ts";
import {
  BATCH_MAX,
  HIGH_REQUESTS,
  LOW_REQUESTS,
  N_EBIRD,
  QOS_NS,
  STREAMS,
  WAIT_MS,
} from "./setup.ts";

/** A server, as data: part of a point's key. */
export type System =
  | {
    readonly server: "NO_Wait" | "OPT_Wait" | "Static";
    readonly waitMs: number;
  }
  | {
    readonly server: "N-Ebird";
    /** "arrival": into the memory pool (section 5.1). "batch": with the batch, as TensorFlow Serving does. */
    readonly copies: "arrival" | "batch";
  }
  | {
    readonly server: "E-Ebird";
    /** Table 4's mixes, or those that the offline phase finds on the device by an objective. */
    readonly mixes: "Table 4" | SearchObjective;
    readonly memState: "pending" | "unanswered";
  };

export const N: System = { server: "N-Ebird", copies: "arrival" };
/** Assumption: Table 4's mixes, ResNet-152's, for every network: the paper prints no others. */
export const E: System = {
  server: "E-Ebird",
  mixes: "Table 4",
  memState: "pending",
};

/**
 * TensorFlow Serving as the paper tunes it. Assumption: the wait of another network is to its latency at the
 * largest batch as ResNet-152's 30 ms are to its 93.7; the paper gives that one only.
 */
export function optWait(network: NetworkName): System {
  const full = (name: NetworkName) =>
    networkCost(name, "equal").latencyNs(CELL, BATCH_MAX);
  return {
    server: "OPT_Wait",
    waitMs: Math.round(WAIT_MS * full(network) / full("Res152")),
  };
}

export interface Place {
  readonly network: NetworkName;
  readonly device: Device;
}

/** Requests per second of full batches, one after the other. */
export function capacityPerS({ network }: Place): number {
  return 1e9 * BATCH_MAX /
    networkCost(network, "equal").latencyNs(CELL, BATCH_MAX);
}

interface Built {
  readonly policy: Policy;
  readonly cost: SharedCost;
  readonly workers: number;
  /** A picture's copy when it arrives, ahead of its batch; 0: it is copied with the batch. */
  readonly poolCopyNs: number;
}

function build(system: System, { network, device }: Place): Built {
  const cost = networkCost(network, device.sharing);
  const copyNs = device.copyUs * NS_PER_US;
  switch (system.server) {
    case "N-Ebird":
      return {
        policy: nEbird(N_EBIRD),
        workers: STREAMS,
        ...system.copies === "arrival"
          ? { cost, poolCopyNs: copyNs }
          : { cost: withTransfers(cost, device), poolCopyNs: 0 },
      };
    case "E-Ebird": {
      const { mixes, memState } = system;
      const configurations = mixes === "Table 4"
        ? RES152_CONFIGURATIONS
        : mixesFound(network, device.sharing, mixes);
      return {
        policy: eEbird({ configurations, memState }),
        cost,
        workers: STREAMS,
        poolCopyNs: copyNs,
      };
    }
    default: {
      const windowNs = system.waitMs * NS_PER_MS;
      return {
        policy: graph(
          BASELINES[system.server](
            system.server === "NO_Wait" ? {} : { windowNs },
          ),
        ),
        cost: withTransfers(cost, device),
        workers: 1,
        poolCopyNs: 0,
      };
    }
  }
}

/** Mixes by load, as the offline phase finds them on the device (section 7.3.2). */
export function mixesFound(
  network: NetworkName,
  sharing: Device["sharing"],
  objective: SearchObjective,
): Record<number, number[]> {
  const cost = networkCost(network, sharing);
  return searchConfigurations({
    objective,
    latenciesNs: (sizes) => latenciesTogetherNs(cost, sizes),
  });
}

/** Latencies by order of arrival, ns. */
export function latenciesNs(
  system: System,
  place: Place,
  timesNs: readonly number[],
): Float64Array {
  const { policy, cost, workers, poolCopyNs } = build(system, place);
  const arrivals = timesNs.map((arrivalNs) => ({
    model: MODEL,
    input: {},
    arrivalNs,
  }));
  return simulate({
    policy,
    cost,
    workers,
    arrivals: poolCopyNs > 0 ? throughInStream(arrivals, poolCopyNs) : arrivals,
  }).latenciesNs;
}

/** Arrivals whose rate changes after so many requests each. */
export function phasesNs(
  phases: readonly { readonly ratePerS: number; readonly requests: number }[],
  prng: Prng,
): number[] {
  let startNs = 0;
  return phases.flatMap(({ ratePerS, requests }, i) => {
    const times = poisson({ ratePerS }).timesNs(
      requests,
      prng.fork(`phase ${i}`),
    ).map((ns) => startNs + ns);
    startNs = times[times.length - 1];
    return times;
  });
}

/** Section 8.2's load. */
export function lowThenHighNs(
  lowPerS: number,
  highPerS: number,
  prng: Prng,
): number[] {
  return phasesNs([
    { ratePerS: lowPerS, requests: LOW_REQUESTS },
    { ratePerS: highPerS, requests: HIGH_REQUESTS },
  ], prng);
}

/** Assumption: low load is a tenth of the capacity. */
export function lowPerS(place: Place): number {
  return capacityPerS(place) / 10;
}

/**
 * The rate at which the 99th percentile of TensorFlow Serving reaches the QoS target within the requests at high
 * load (section 8.2: "close to the QoS target").
 */
export function highPerS(
  system: System,
  place: Place,
  seed: number,
): number {
  const low = lowPerS(place);
  return highestRate(low, (ratePerS) => {
    const times = lowThenHighNs(low, ratePerS, new Prng(seed));
    const high = latenciesNs(system, place, times).slice(LOW_REQUESTS);
    return percentile(ascending(high), 0.99) < QOS_NS;
  });
}

const STEADY_REQUESTS = 1000;

/** Mean latency of a steady load, ms. */
export function steadyMs(
  system: System,
  place: Place,
  ratePerS: number,
  seed: number,
): number {
  const times = poisson({ ratePerS }).timesNs(STEADY_REQUESTS, new Prng(seed));
  return mean(latenciesNs(system, place, times)) / NS_PER_MS;
}

export type Phases = {
  /** Mean latency at low and high load, ms, and the 99th percentile at high load. */
  readonly lowMs: number;
  readonly highMs: number;
  readonly highP99Ms: number;
};

export function twoPhases(
  system: System,
  place: Place,
  highRatePerS: number,
  seed: number,
): Phases {
  const times = lowThenHighNs(lowPerS(place), highRatePerS, new Prng(seed));
  const all = latenciesNs(system, place, times);
  const high = all.slice(LOW_REQUESTS);
  return {
    lowMs: mean(all.slice(0, LOW_REQUESTS)) / NS_PER_MS,
    highMs: mean(high) / NS_PER_MS,
    highP99Ms: percentile(ascending(high), 0.99) / NS_PER_MS,
  };
}

/** Section 8.3: highest steady rate that keeps the 99th percentile below the QoS target. */
export function peakPerS(
  context: Pick<Context, "quick">,
  system: System,
  place: Place,
  seed: number,
): number {
  return highestRate(lowPerS(place) / 4, (ratePerS) => {
    const requests = peakRequests(context, ratePerS, QOS_NS);
    const times = poisson({ ratePerS }).timesNs(requests, new Prng(seed));
    const sorted = ascending(latenciesNs(system, place, times));
    return percentile(sorted, 0.99) < QOS_NS;
  });
}
