/** One load under one policy on virtual time: is the target kept? */
import type { CostModel } from "../cost/cost_model.ts";
import type { Submission } from "../engine/core/engine_options.ts";
import { simulatedEngine } from "../engine/virtual/simulated_engine.ts";
import {
  driveVirtual,
  type VirtualArrival,
} from "../engine/virtual/virtual_driver.ts";
import type { Policy } from "../policy/policy.ts";
import type { Target } from "../load/result.ts";
import type { RecordedTime } from "./recorded_time.ts";
import { lateMax } from "./target.ts";

/** What is planned for: times of a machine with so many workers. */
export interface Machine {
  readonly cost: CostModel;
  readonly workers: number;
  /** Host time of a task of so many rows that was not there before its worker was idle, integer ns. */
  readonly submitNs: (rows: number) => number;
  /** Host time of a request that comes, ns; default: none. */
  readonly requestNs?: number;
  /** What it did when it was recorded; default: what `cost` says, and its host is always there. */
  readonly recorded?: RecordedTime;
}

/** What became of it. */
export interface TrialOutcome {
  readonly holds: boolean;
  /** Requests that were in time; of a trial that was given up, no more are known. */
  readonly inTime: number;
  /** Of requests that are done, in the order in which they are. */
  readonly latenciesNs: readonly number[];
}

/** Too many are late already. */
class GivenUp extends Error {}

/**
 * @param from where in what was recorded of the machine it begins: a share of the whole, below 1
 * @param isWhole goes on when the target is lost, to say how many are in time
 * @throws OutsideProfile when the policy asks for batches that were not measured
 */
export function simulatedTrial(
  { machine, policy, arrivals, target, from = 0 }: {
    readonly machine: Machine;
    readonly policy: Policy;
    readonly arrivals: readonly Submission[];
    readonly target: Target;
    readonly from?: number;
  },
  isWhole = false,
): TrialOutcome {
  const { cost, recorded, workers, submitNs, requestNs = 0 } = machine;
  const fromNs = recorded ? Math.floor(from * recorded.lengthNs) : 0;
  const thereNs = (nowNs: number) =>
    recorded ? recorded.heardNs(fromNs + nowNs) - fromNs : nowNs;
  const { entering, turns } = hostTurns(arrivals, requestNs, thereNs);
  let turn = 0;
  const heardNs = (nowNs: number): number => {
    const atNs = thereNs(nowNs);
    while (turn < turns.length && turns[turn].endNs <= atNs) turn++;
    const isTaking = turn < turns.length && turns[turn].startNs <= atNs;
    return isTaking ? turns[turn].endNs : atNs;
  };
  const allowed = lateMax(target, arrivals.length);
  const latenciesNs: number[] = [];
  let late = 0;
  const { engine, timeline } = simulatedEngine({
    models: [arrivals[0].model],
    policy,
    cost: recorded
      ? {
        latencyNs: (cell, rows, extents, worker = 0) =>
          recorded.tookNs(
            worker,
            cost.latencyNs(cell, rows, extents),
            fromNs + timeline.nowNs,
          ),
      }
      : cost,
    workers,
    // A worker's end is heard of over its doorbell.
    isRemote: true,
    submitNs: ({ nodes, padding }) => submitNs(nodes.length + padding),
    heardNs,
    queueMax: Infinity,
    observer: {
      request(_, { arrivalNs, endNs }) {
        latenciesNs.push(endNs - arrivalNs);
        if (endNs - arrivalNs > target.sloNs) late++;
        if (late > allowed && !isWhole) throw new GivenUp();
      },
    },
  });
  try {
    driveVirtual(engine, timeline, entering);
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
  }
  return {
    holds: late <= allowed,
    inTime: latenciesNs.length - late,
    latenciesNs,
  };
}

/**
 * The host takes in all requests that are due when it looks, one after the other, hears of nothing meanwhile, and decides
 * when it has them.
 * @param thereNs when the host, called at a time, is there
 */
function hostTurns(
  arrivals: readonly Submission[],
  requestNs: number,
  thereNs: (nowNs: number) => number,
): {
  entering: VirtualArrival[];
  turns: { readonly startNs: number; readonly endNs: number }[];
} {
  const entering: VirtualArrival[] = [];
  const turns: { startNs: number; endNs: number }[] = [];
  let endNs = 0;
  while (entering.length < arrivals.length) {
    const from = entering.length;
    const startNs = thereNs(Math.max(endNs, arrivals[from].arrivalNs));
    let to = from + 1;
    while (to < arrivals.length && arrivals[to].arrivalNs <= startNs) to++;
    endNs = startNs + (to - from) * requestNs;
    turns.push({ startNs, endNs });
    for (const arrival of arrivals.slice(from, to)) {
      entering.push({ ...arrival, enterNs: endNs });
    }
  }
  return { entering, turns };
}
