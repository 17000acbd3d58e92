/** What the arena's threads are told, and what they tell. */
import type { Measured } from "./devices.ts";
import type { Entry, MatchOptions } from "./match.ts";
import type { Scenario, Target } from "./scenario.ts";

/** Everything that is played for one workload on one device. */
export interface Order {
  readonly device: string;
  readonly workload: string;
  readonly measured: Measured | undefined;
  readonly policies: readonly string[];
  readonly scenarios: readonly Scenario[];
  readonly targets: readonly Target[];
  readonly options: MatchOptions;
  /** No scenario is begun after this time, ms since 1970. */
  readonly untilMs: number;
  /** Folder of the cache, and the project's. */
  readonly cache: string;
  readonly root: string;
}

/** A scenario with a target, and how everybody did. */
export interface Cell {
  readonly scenario: Scenario;
  readonly target: Target;
  /** Mean time of a request alone, and requests per second at the capacity. */
  readonly aloneNs: number;
  readonly capacityPerS: number;
  readonly entries: readonly Entry[];
}

/** What a policy did first in a cell, a line each. */
export interface Decisions {
  readonly policy: string;
  readonly lines: readonly string[];
}

/** What a thread says. */
export type Report =
  | {
    readonly kind: "cell";
    readonly cell: Cell;
    readonly logs: readonly Decisions[];
    readonly computed: number;
  }
  /** `unserved`: why none of the policies can serve the workload. */
  | { readonly kind: "done"; readonly unserved?: string }
  | { readonly kind: "failed"; readonly error: string };
