/** The policies of LazyBatching's evaluation (section VI), as data, so that they can be part of a key. */
import { NS_PER_MS } from "../../../src/base/units.ts";
import { BASELINES } from "../../../src/policy/baselines/search_window.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { serial } from "../../../src/policy/baselines/serial.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { lazy, oracle } from "../../../src/policy/lazybatching/lazy.ts";
import type { LazyOptions } from "../../../src/policy/lazybatching/lazy_options.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { Profile } from "../../../src/policy/profile.ts";

/** Section VI: "model-allowed maximum batch size of 64 as default". */
export const BATCH_SIZE_MAX = 64;

/** Section VI: the SLA that slack is counted from, ms. */
export const SLA_MS = 100;

/** Section VI-B: the targets of Fig. 15, ms. */
export const SLAS_MS = [20, 40, 60, 80, 100] as const;

/** Windows of graph batching, ms: from Fig. 5's 5 to section VI-A's 95. */
export const WINDOWS_MS = [5, 25, 50, 75, 95] as const;

/** Rules of LazyBatching that are switched or varied; see `LazyOptions`. */
export type LazyRules = {
  readonly emptyTable?: "issue" | "check";
  readonly elapsedTime?: "charge" | "ignore";
  readonly negativeSlack?: "refuse" | "ignore";
  readonly nestedPreemption?: boolean;
  readonly decTimesteps?: number;
};

/** A policy and what makes it differ from the paper's defaults. */
export type PolicySpec =
  | {
    readonly kind: "lazy" | "oracle";
    readonly options?: LazyRules;
  }
  | { readonly kind: "serial" }
  | {
    readonly kind: "graph";
    readonly windowMs: number;
    readonly batchSizeMax?: number;
  }
  | {
    readonly kind: "cellular";
    readonly nonRecurrent: "batch" | "serialize";
  };

export const LAZYB: PolicySpec = { kind: "lazy" };
export const ORACLE: PolicySpec = { kind: "oracle" };
export const SERIAL: PolicySpec = { kind: "serial" };

/** The paper's GraphB(N). */
export function graphB(windowMs: number, batchSizeMax?: number): PolicySpec {
  return {
    kind: "graph",
    windowMs,
    ...(batchSizeMax !== undefined && { batchSizeMax }),
  };
}

/** What a policy is told of the device and the requests. */
export interface Surroundings {
  readonly profile: Profile;
  readonly slaMs: number;
  readonly decTimesteps: number;
}

export function policyOf(
  spec: PolicySpec,
  { profile, slaMs, decTimesteps }: Surroundings,
): Policy {
  switch (spec.kind) {
    case "lazy":
    case "oracle": {
      const options: LazyOptions = {
        profile,
        slaNs: slaMs * NS_PER_MS,
        decTimesteps,
        batchSizeMax: BATCH_SIZE_MAX,
        ...spec.options,
      };
      return spec.kind === "lazy" ? lazy(options) : oracle(options);
    }
    case "serial":
      return serial();
    case "graph":
      return graph(BASELINES["GraphB"]({
        windowNs: spec.windowMs * NS_PER_MS,
        batchSizeMax: spec.batchSizeMax ?? BATCH_SIZE_MAX,
      }));
    case "cellular":
      return cellular({
        nonRecurrent: spec.nonRecurrent,
        batchSizeMax: BATCH_SIZE_MAX,
      });
  }
}
