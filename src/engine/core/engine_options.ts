import { describe } from "../../base/describe.ts";
import {
  type Check,
  checkedOptions,
  type Checks,
  nonNegative,
  number,
  ofType,
  oneOf,
  positiveInteger,
} from "../../base/checked_options.ts";
import type { Model } from "../../graph/model.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Observer } from "../../policy/records.ts";
import type { ActiveSession, OnEnd } from "./active_request.ts";
import type { OnStep } from "./step_rows.ts";
import { checkExecutor, checkModels, checkPolicy } from "./check_models.ts";
import type { Executor } from "./executor.ts";

/** Options of `EngineCore`. */
export interface EngineOptions {
  /** Models that requests may name; at least one. */
  models: readonly Model[];
  /** Decides what is launched; it serves this engine only. */
  policy: Policy;
  /** Executes what is launched: simulated, paired or on worker threads. */
  executor: Executor;
  /** Hears of decisions, tasks and requests; default: nobody. */
  observer?: Observer;
  /** Requests that may be in the system at once, a positive integer or Infinity; default 1,000,000. */
  queueMax?: number;
  /** Bytes of the inputs of requests that wait to be unfolded, about; a further one is refused. Default Infinity. */
  waitingBytes?: number;
  /**
   * Given, requests that the policy could not start yet wait to be unfolded (Policy.lookahead). Asked
   * whether there is time for another; where there is not, `holdsBack`.
   * Default: all are unfolded as they come.
   */
  hasTime?: () => boolean;
  /** Whether it hears of the end of tasks later (EngineView.isRemote). Default false. */
  isRemote?: boolean;
}

const ENGINE_CHECKS: Checks<EngineOptions> = {
  models: (_name, models) => checkModels(models),
  policy: (_name, policy) => checkPolicy(policy),
  executor: checkExecutor,
  observer: ofType("object"),
  queueMax: number(
    "a positive integer or Infinity",
    (value) =>
      value >= 1 && (Number.isSafeInteger(value) || value === Infinity),
  ),
  waitingBytes: nonNegative,
  hasTime: ofType("function"),
  isRemote: ofType("boolean"),
};

/** What a request does that finds no room. */
export const WHEN_FULL: Check = oneOf(["wait", "refuse"]);

/** @throws TypeError or RangeError on an option that is not one */
export function checkedEngineOptions(options: EngineOptions): EngineOptions {
  return checkedOptions("EngineCore", options, ENGINE_CHECKS, [
    "models",
    "policy",
    "executor",
  ]);
}

/** A request on its way into the engine. */
export interface Submission {
  /** One of the engine's models. */
  model: Model;
  /** What the model takes; it is checked. */
  input: unknown;
  /** When it was due to arrive; latency counts from here. */
  arrivalNs: number;
  /** A request that has not started by then is refused; what has started goes on. Default Infinity. */
  deadlineNs?: number;
  /** A request that has not departed by then is refused, or ended if it has started. Default Infinity. */
  finishNs?: number;
  /** The workload ends growth after this many steps, one or more; policies do not see it. */
  stepsFixed?: number | undefined;
  /** What records call it, beside its id. Default: nothing. */
  label?: string | undefined;
  /**
   * Where it finds no room and other requests have it: it waits, ahead of those that come later, or `submit` throws.
   * Default "wait".
   */
  whenFull?: "wait" | "refuse" | undefined;
  /** Write down the batches that it is in: ActiveRequest.log. Default: no. */
  logBatches?: boolean | undefined;
  /**
   * It is a frame of this session, which `EngineCore.open` made: `input` are its rows by name. It begins when all
   * frames submitted before have ended.
   */
  session?: ActiveSession;
  /** Of a frame: arrays that its results are written to, by name; default: fresh ones. */
  into?: Readonly<Record<string, TensorData>>;
  /** Called for every step of a growing request, in order, before it has ended. */
  onStep?: OnStep | undefined;
  /** Called once, when the request has ended; not when `submit` throws. */
  onEnd?: OnEnd;
}

/** @throws RangeError on a deadline that is no time, steps that are no positive integer, or another way to wait */
export function limitsOf(
  { deadlineNs = Infinity, finishNs = Infinity, stepsFixed, whenFull }:
    Submission,
): { deadlineNs: number; finishNs: number } {
  checkTime("deadlineNs", deadlineNs);
  checkTime("finishNs", finishNs);
  if (stepsFixed !== undefined) positiveInteger("stepsFixed", stepsFixed);
  if (whenFull !== undefined) WHEN_FULL("whenFull", whenFull);
  return { deadlineNs, finishNs };
}

function checkTime(name: string, ns: number): void {
  if (typeof ns === "number" && !Number.isNaN(ns)) return;
  throw new RangeError(
    `"${name}" is a time in nanoseconds, or Infinity for none; got ${
      describe(ns)
    }`,
  );
}
