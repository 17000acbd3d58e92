import type { Model } from "../graph/model.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import type { Ending } from "./active_request.ts";
import type { Executor } from "./executor.ts";

export interface EngineOptions {
  models: readonly Model[];
  policy: Policy;
  executor: Executor;
  observer?: Observer;
  /** Requests that may be in the system at once; default 1,000,000. */
  queueMax?: number;
  /**
   * Given, requests that the policy could not start yet wait to be unfolded (Policy.lookahead). Asked
   * whether there is time for another; where there is not, `holdsBack`.
   * Default: all are unfolded as they come.
   */
  hasTime?: () => boolean;
}

/** A request on its way into the engine. */
export interface Submission {
  model: Model;
  input: unknown;
  /** When it was due to arrive; latency counts from here. */
  arrivalNs: number;
  /** Latest useful completion; default Infinity. */
  deadlineNs?: number;
  /** The workload ends growth after this many steps; policies do not see it. */
  stepsFixed?: number;
  onEnd?: (ending: Ending) => void;
}
