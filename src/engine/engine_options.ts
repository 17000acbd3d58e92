import {
  checkedOptions,
  type Checks,
  number,
  ofType,
} from "../base/checked_options.ts";
import type { Model } from "../graph/model.ts";
import type { Policy } from "../policy/policy.ts";
import type { Observer } from "../policy/records.ts";
import { checkExecutor, checkModels, checkPolicy } from "./check_models.ts";
import type { Executor } from "./executor.ts";

export interface EngineOptions {
  models: readonly Model[];
  policy: Policy;
  executor: Executor;
  observer?: Observer;
  /** Requests that may be in the system at once; default 1,000,000. */
  queueMax?: number;
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
};

/** @throws TypeError or RangeError on an option that is not one */
export function checkedEngineOptions(options: EngineOptions): EngineOptions {
  return checkedOptions("EngineCore", options, ENGINE_CHECKS, [
    "models",
    "policy",
    "executor",
  ]);
}
