import {
  type Checks,
  number,
  ofType,
  positiveInteger,
} from "../../base/checked_options.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Observer } from "../../policy/records.ts";
import { checkPolicy } from "../core/check_models.ts";
import {
  type ExecutionOptions,
  SERVED_CHECKS,
} from "../tensors/tensor_options.ts";

/** Options of `ServingEngine.create`. */
export interface ServingOptions extends ExecutionOptions {
  /** Decides what runs next; an object of its own for every engine. Default: `auto()`. */
  policy?: Policy;
  /** Requests that may be in the system at once; a further one is refused. Default 10,000. */
  queueMax?: number;
  /**
   * Bytes of input, about, that requests may hold outside of `slotBytes` while they wait for room in a batch
   * (`cellular`); a further one is refused. Default 256 MiB.
   */
  waitingBytes?: number;
  /** Hears of every request and task as it ends. */
  observer?: Observer;
  /**
   * How long, in milliseconds, results of streams' frames may lie before the engine's thread is woken for them, up to
   * 1000: with regular frames it comes by for the next ones before that, and need not be woken at all. Holds while
   * workers have all there is to compute, and that is frames; otherwise everything is told at once. Default 0: always.
   */
  lingerMs?: number;
  /**
   * Hears of what ends no request: an observer's hook that throws, a worker that died and was replaced.
   * Default: the console's `error`, once for each hook.
   */
  onError?: (error: Error) => void;
}

const LINGER_MS_MAX = 1000;

/** Of the options of `ServingEngine.create`. */
export const SERVING_CHECKS: Checks<ServingOptions> = {
  ...SERVED_CHECKS,
  policy: (_name, policy) => checkPolicy(policy),
  queueMax: positiveInteger,
  waitingBytes: positiveInteger,
  observer: ofType("object"),
  lingerMs: number(
    "milliseconds from 0 to 1000",
    (value) => value >= 0 && value <= LINGER_MS_MAX,
  ),
  onError: ofType("function"),
};
