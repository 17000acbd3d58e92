/** Options of hosts. */
import {
  type Checks,
  listOf,
  ofType,
  withMethods,
} from "../../base/checked_options.ts";
import {
  SERVING_CHECKS,
  type ServingOptions,
} from "../../engine/wall/serving_options.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Admission } from "./admission.ts";
import type { HostObserver } from "./host_observer.ts";
import { type ServedModel, servedModel } from "./served_model.ts";

/** Options of an engine that the host does not decide itself. */
export type EngineSettings = Omit<
  ServingOptions,
  "models" | "policy" | "observer" | "onError"
>;

/** What hosts have in common. */
export interface HostHooks {
  /** Decides who may run; default: everybody, at once. */
  admission?: Admission;
  /** Hear of requests, and of what engines do. */
  observers?: readonly HostObserver[];
  /** Hears of what ends no request; default: the console's `error`. */
  onError?: (error: Error) => void;
}

/** Options of {@linkcode EngineHost.create}. */
export interface HostOptions extends HostHooks {
  /** Models to begin with; default none. */
  models?: readonly ServedModel[];
  /** Makes the policy of an engine: each has one of its own. */
  policy(models: readonly ServedModel[]): Policy;
  /** Workers, memory and so on of every engine. */
  engine?: EngineSettings;
}

/** Of what hosts have in common. */
export const HOOK_CHECKS: Checks<HostHooks> = {
  admission: withMethods("an admission", ["admit"]),
  observers: listOf(ofType("object")),
  onError: ofType("function"),
};

const { models: _models, policy: _policy, observer: _observer, ...others } =
  SERVING_CHECKS;
const { onError: _onError, ...settings } = others;

/** Of the options of an engine that the host does not decide itself. */
export const ENGINE_CHECKS: Checks<EngineSettings> = settings;

/** Of the options of hosts; the engine's are checked with each engine. */
export const HOST_CHECKS: Checks<HostOptions> = {
  ...HOOK_CHECKS,
  models: listOf(servedModel),
  policy: ofType("function"),
  engine: ofType("object"),
};
