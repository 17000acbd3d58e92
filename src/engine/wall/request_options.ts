import {
  anything,
  type Checks,
  ofType,
  positive,
  positiveInteger,
} from "../../base/checked_options.ts";
import { WHEN_FULL } from "../core/engine_options.ts";

/** Options of `ServingEngine.run`. */
export interface RequestOptions {
  /** Cancels the request; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /**
   * A deadline for starting: a request of which no batch has been given to a worker when so many
   * milliseconds have passed since the call is refused with a DeadlineError. What has started goes on,
   * however long it takes. Default Infinity.
   */
  deadlineMs?: number;
  /**
   * A deadline for finishing: when so many milliseconds have passed since the call, the request is refused
   * if it has not started, and ended if it has, with a DeadlineError that says how far it got. Nothing more
   * of it is launched, what is under way is ignored, and requests in the same batches do not notice. A
   * result that comes later than that is not delivered. May be smaller or larger than `deadlineMs`; whichever
   * is missed first ends the request. Default Infinity.
   */
  finishMs?: number;
  /**
   * What becomes of the request while other requests have all the slots (`slotBytes`): it waits for some, and comes in
   * ahead of those after it ("wait", the default), or is refused with a QueueFullError ("refuse"). Where only open
   * streams have them it is always refused.
   */
  whenFull?: "wait" | "refuse";
  /** Also write down in which batches the request was: `timing.batches` of its result. Default false. */
  batches?: boolean;
  /**
   * What the caller calls the request; observers find it in what they are told (`Request.label`, `RequestRecord.label`).
   * The rows of an input of several have the same one.
   */
  label?: string;
  /** Growing steps after which the workload ends the request (measurements); policies do not see it. */
  stepsFixed?: number;
}

/** Those of a request that is given none: nothing to be checked. */
export const NO_OPTIONS: RequestOptions = Object.freeze({});

export const REQUEST_CHECKS: Checks<RequestOptions> = {
  // Whatever it is, watchSignal finds out.
  signal: anything,
  deadlineMs: positive,
  finishMs: positive,
  whenFull: WHEN_FULL,
  batches: ofType("boolean"),
  label: ofType("string"),
  stepsFixed: positiveInteger,
};
