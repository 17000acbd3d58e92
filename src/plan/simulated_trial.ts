/** One load under one policy on virtual time: is the target kept? */
import type { CostModel } from "../cost/cost_model.ts";
import type { Submission } from "../engine/core/engine_options.ts";
import { simulatedEngine } from "../engine/virtual/simulated_engine.ts";
import { driveVirtual } from "../engine/virtual/virtual_driver.ts";
import type { Policy } from "../policy/policy.ts";
import type { Target } from "../load/result.ts";
import { lateMax } from "./target.ts";

/** What is planned for: times of a machine with so many workers. */
export interface Machine {
  readonly cost: CostModel;
  readonly workers: number;
  /** Host time of a task of so many rows that was not there before its worker was idle, integer ns. */
  readonly submitNs: (rows: number) => number;
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
  { machine: { cost, workers, submitNs }, policy, arrivals, target }: {
    readonly machine: Machine;
    readonly policy: Policy;
    readonly arrivals: readonly Submission[];
    readonly target: Target;
  },
  isWhole = false,
): TrialOutcome {
  const allowed = lateMax(target, arrivals.length);
  const latenciesNs: number[] = [];
  let late = 0;
  const { engine, timeline } = simulatedEngine({
    models: [arrivals[0].model],
    policy,
    cost,
    workers,
    // A worker's end is heard of over its doorbell.
    isRemote: true,
    submitNs: ({ nodes, padding }) => submitNs(nodes.length + padding),
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
    driveVirtual(engine, timeline, arrivals);
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
  }
  return {
    holds: late <= allowed,
    inTime: latenciesNs.length - late,
    latenciesNs,
  };
}
