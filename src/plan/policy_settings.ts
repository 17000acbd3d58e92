/** The settings among which a search finds the best of a policy. */
import type { Policy } from "../policy/policy.ts";
import type { Profile, ProfileTable } from "../policy/profile.ts";
import { POLICIES } from "../policy/registry.ts";

/** What a policy is made for. */
export interface Given {
  readonly profile: Profile | ProfileTable;
  readonly decTimesteps: number;
  /** Mean time of a request alone, ns. */
  readonly aloneNs: number;
  /** Latency that answers may have; Infinity: none. */
  readonly targetNs: number;
}

/** Options beside those that every policy is given: JSON, times as multiples of a request's time alone. */
export type Setting = Readonly<Record<string, unknown>>;

const MAX = [8, 64].map((batchSizeMax) => ({ batchSizeMax }));

/** Settings by policy, at most `SETTINGS_MAX`; a policy that is not here has only its defaults. */
const SETTINGS: Readonly<Record<string, readonly Setting[]>> = {
  graph: MAX.flatMap((max) =>
    [0, 1, 4].map((windowAlone) => ({ ...max, windowAlone }))
  ),
  bucketed: MAX.flatMap((max) =>
    [5, 10, 20].map((bucketWidth) => ({ ...max, bucketWidth }))
  ),
  merged: [{ batchSizeMax: 4 }, { batchSizeMax: 16 }, ...MAX],
  cellular: MAX.flatMap((max) =>
    [1, 5].map((maxTasksToSubmit) => ({ ...max, maxTasksToSubmit }))
  ),
  late: MAX.flatMap((max) =>
    [1, 2].map((pushAhead) => ({ ...max, pushAhead }))
  ),
  lazy: MAX,
  oracle: MAX,
  dvabatch: MAX.flatMap((max) =>
    [0, 1].map((windowAlone) => ({ ...max, windowAlone }))
  ),
  "n-ebird": [{ workers: [1, 2, 4] }, { workers: [1, 1, 2, 4, 8, 16] }, {
    workers: [1, 2, 4, 8, 16, 32],
  }],
  "token-budget": [256, 1024, 4096, 16_384].map((tokensMax) => ({
    tokensMax,
    // Its own default is 512; the others are held to this.
    batchSizeMax: 64,
  })),
  "length-sorted": MAX,
  "shortest-first": MAX.flatMap((max) =>
    [0.1, 1].map((aging) => ({ ...max, aging }))
  ),
  aimd: MAX.flatMap((max) =>
    [0, 1].map((windowAlone) => ({ ...max, windowAlone }))
  ),
  "earliest-deadline": MAX,
  deferred: MAX,
  iteration: [{ batchSizeMax: 4 }, { batchSizeMax: 16 }, ...MAX],
};

/** Most settings of a policy. */
export const SETTINGS_MAX = 6;

/** What is tried for a policy. */
export function settingsOf(name: string): readonly Setting[] {
  return SETTINGS[name] ?? [{}];
}

/** Whether a policy is told the target. */
export function knowsTarget(name: string): boolean {
  return "slaNs" in POLICIES[name].options;
}

/** A fresh policy. */
export function policyOf(name: string, setting: Setting, given: Given): Policy {
  return POLICIES[name].build(policyOptionsOf(name, setting, given));
}

/** Options of a policy as the registry takes them. */
export function policyOptionsOf(
  name: string,
  setting: Setting,
  { profile, decTimesteps, aloneNs, targetNs }: Given,
): Record<string, unknown> {
  const { options } = POLICIES[name];
  const { windowAlone, ...rest } = setting;
  return {
    ...rest,
    ...(windowAlone !== undefined &&
      { windowNs: Math.round(windowAlone as number * aloneNs) }),
    ...("profile" in options && { profile }),
    ...("decTimesteps" in options && { decTimesteps }),
    ...("slaNs" in options && { slaNs: targetNs }),
  };
}
