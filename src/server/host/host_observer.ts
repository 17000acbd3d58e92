/** What the host tells of requests: metrics, logs and explanations are made from it. */
import type { Timing } from "../../engine/wall/timing.ts";
import type { Observer } from "../../policy/records.ts";
import type { ServedModel } from "./served_model.ts";
import type { HostRequest } from "./host_request.ts";

/** How a request ended. */
export interface HostEnding {
  /** "done" with a result; "refused" before the engine had it; "failed" in any other way. */
  readonly outcome: "done" | "refused" | "failed";
  /** When it ended, in nanoseconds of the engine's clock. */
  readonly endNs: number;
  /** How long it queued in the engine and ran there, if it is done. */
  readonly timing?: Timing;
  /** When the engine that did it was given it, if it is done: later than it was first where that had no room for it. */
  readonly beganNs?: number;
  /** Why it is not. */
  readonly error?: unknown;
}

/** What is kept of a model that is served no more. */
export type ModelVersion = Pick<ServedModel, "name" | "version">;

/** Hooks that the host calls synchronously; what they throw is reported, and changes nothing. */
export interface HostObserver {
  /**
   * Hears of what an engine does: called for each generation, from 0 on, before its engine is made.
   * @param policy name of the policy that decides there
   */
  engine?(
    generation: number,
    models: readonly ServedModel[],
    policy: string,
  ): Observer;
  /**
   * A version is served no more, nor do requests reach it, and others have gone since: what is kept of it may go. It may
   * be served again.
   */
  forget?(version: ModelVersion): void;
  /** A request came, before it was admitted. */
  arrived?(request: HostRequest): void;
  /** It was admitted, and the engine has it now. */
  started?(request: HostRequest): void;
  /** It ended; comes once for each that arrived. */
  ended?(request: HostRequest, ending: HostEnding): void;
}
