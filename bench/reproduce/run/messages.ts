/** What the runner and the threads of experiments tell each other. */
import type { Outcome } from "../experiment.ts";

/** An experiment to run. */
export interface Order {
  /** Module that exports PAPERS. */
  readonly registry: string;
  /** Folder of the project, and in it the one of the papers' folders. */
  readonly root: string;
  readonly folder: string;
  readonly paper: string;
  readonly id: string;
  readonly seed: number;
  readonly runs: number;
  readonly quick: boolean;
  readonly full: boolean;
  readonly cache: string;
  readonly fresh: boolean;
}

export type Report =
  | {
    /** A point is being computed. */
    readonly kind: "computing";
    readonly key: string;
  }
  | { readonly kind: "done"; readonly outcome: Outcome }
  | { readonly kind: "failed"; readonly error: string };
