import { anything, type Checks, ofType } from "../../base/checked_options.ts";

/** A request to a host, besides its input. */
export interface HostRunOptions {
  /** What logs and explanations call it; default: a number. */
  id?: string;
  /** Ends it; the reason is what its promise is rejected with. */
  signal?: AbortSignal;
  /** Ends it when so many milliseconds have passed since the call, waiting for admission included. */
  finishMs?: number;
  /**
   * It is of use when it is done within so many milliseconds: where admission expects that it is not, it is refused. What
   * was admitted is not ended for it. Default: the admission's own target.
   */
  sloMs?: number;
  /** 1 is the highest; 0, the default: whatever admission makes of it. */
  priority?: number;
  /** Name of the key that it came with. */
  key?: string;
}

/** Of the options of a request. */
export const RUN_CHECKS: Checks<HostRunOptions> = {
  id: ofType("string"),
  // Whatever it is, watchSignal finds out, and the engine which times are none.
  signal: anything,
  finishMs: anything,
  // What it means is the admission's.
  sloMs: anything,
  priority: anything,
  key: ofType("string"),
};

/** What is left of them for the engine. */
export interface AdmittedOptions {
  /** The request's id: what the engine's observers are told. */
  label: string;
  /** Whether the engine has it wait for room. */
  whenFull: "wait" | "refuse";
  /** As given. */
  signal?: AbortSignal;
  /** What is left of the time. */
  finishMs?: number;
}
