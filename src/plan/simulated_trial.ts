/** One load under one policy on virtual time: is the target kept? */
import { Prng } from "../base/prng.ts";
import type { CostModel } from "../cost/cost_model.ts";
import type { Submission } from "../engine/core/engine_options.ts";
import { simulatedEngine } from "../engine/virtual/simulated_engine.ts";
import {
  driveVirtual,
  throughInStream,
} from "../engine/virtual/virtual_driver.ts";
import type { Policy } from "../policy/policy.ts";
import type { Target } from "../load/result.ts";
import { drawnFactor, type Spread } from "./spread.ts";
import { lateMax } from "./target.ts";

/** What is planned for: times of a machine with so many workers. */
export interface Machine {
  readonly cost: CostModel;
  readonly workers: number;
  /** Host time of a task of so many rows that was not there before its worker was idle, integer ns. */
  readonly submitNs: (rows: number) => number;
  /** Host time of a request that comes, ns; default: none. */
  readonly requestNs?: number;
  /** What batches take, as multiples of `cost`; default: as it says. */
  readonly spread?: Spread;
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
 * @param isWhole goes on when the target is lost, to say how many are in time
 * @throws OutsideProfile when the policy asks for batches that were not measured
 */
export function simulatedTrial(
  { machine, policy, arrivals, target }: {
    readonly machine: Machine;
    readonly policy: Policy;
    readonly arrivals: readonly Submission[];
    readonly target: Target;
  },
  isWhole = false,
): TrialOutcome {
  const { workers, submitNs, requestNs = 0 } = machine;
  // The host takes requests in one after the other, and decides nothing meanwhile.
  const entering = throughInStream(arrivals, requestNs);
  let taken = 0;
  let takenNs = 0;
  const busyNs = (nowNs: number): number => {
    while (taken < arrivals.length && arrivals[taken].arrivalNs <= nowNs) {
      takenNs = entering[taken++].enterNs!;
    }
    return Math.max(0, takenNs - nowNs);
  };
  const allowed = lateMax(target, arrivals.length);
  const latenciesNs: number[] = [];
  let late = 0;
  const { engine, timeline } = simulatedEngine({
    models: [arrivals[0].model],
    policy,
    cost: spreadCost(machine),
    workers,
    // A worker's end is heard of over its doorbell.
    isRemote: true,
    submitNs: ({ nodes, padding }) =>
      submitNs(nodes.length + padding) + busyNs(timeline.nowNs),
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

/** The same draws in every trial. */
function spreadCost({ cost, spread }: Machine): CostModel {
  if (spread === undefined) return cost;
  const prng = new Prng(1).fork("spread");
  return {
    latencyNs: (cell, rows, extents) =>
      Math.round(
        cost.latencyNs(cell, rows, extents) * drawnFactor(spread, prng),
      ),
  };
}
