import type { Model } from "../graph/model.ts";
import type { Launch, Task } from "./launch.ts";
import type { Request } from "./request.ts";

/** What a worker is doing, as a policy may know it. */
export interface WorkerView {
  /** From 0 to the number of workers - 1; what `Launch.worker` names. */
  readonly id: number;
  /** Tasks submitted and not completed, the running one included; runs count all their steps. */
  readonly queued: number;
}

/** Read-only state of the engine at a scheduling point. */
export interface EngineView {
  /** Now, in the clock of arrivals and deadlines: virtual time, or time since the engine's thread started. */
  readonly nowNs: number;
  /** All workers, by id. */
  readonly workers: readonly WorkerView[];
  /**
   * Whether workers run beside the engine, which hears of the end of a task some time after it (threads). Absent: at
   * that instant.
   */
  readonly isRemote?: boolean;
}

/** What to do now. */
export type Decision =
  /** The launch; then `schedule` is asked again. */
  | { readonly kind: "launch"; readonly launch: Launch }
  /** Nothing yet; ask again at `untilNs` even if nothing else happens (a batching time window). */
  | {
    readonly kind: "wait";
    readonly untilNs: number;
    /** What is waited for, for the decision log. */
    readonly why?: string;
  }
  /** Nothing until the next event. */
  | { readonly kind: "idle" };

/**
 * Decides which requests advance together, through which nodes, on which worker. A policy never
 * reads a clock, never waits, never touches a tensor; one instance sees all models of an engine.
 * The engine asks `schedule` again after every launch until it answers `wait` or `idle`. A policy object serves
 * one engine. What it throws ends the engine, and so does a promise: each call has to be done when it returns.
 */
export interface Policy {
  /** What messages and reports call it. */
  readonly name: string;
  /** Why this policy cannot batch the model; undefined when it can. */
  supports(model: Model): string | undefined;
  /**
   * How many requests of the model it can start together, at most, on one worker, 1 or more: while so many wait,
   * later ones need not be unfolded. Undefined: it looks at everything that waits.
   */
  lookahead?(model: Model): number;
  /** A request arrived: store it, decide nothing. */
  enqueue(request: Request): void;
  /** What to do now: asked after every arrival and completion, and when a wait is over. */
  schedule(view: EngineView): Decision;
  /** The launch is queued on its worker: its nodes are submitted, growing graphs have their next nodes. */
  submitted?(launch: Launch): void;
  /**
   * A task is done: its nodes are done or void, requests may have ended (see `ended`).
   * @param ranNs what it took on its worker
   */
  completed?(task: Task, ranNs: number): void;
  /** The last task of a run is done: the worker is free. */
  finished?(launch: Launch): void;
  /**
   * The request needs nothing more: completed, stopped, failed or cancelled. Nothing of it may be launched again. When
   * all launches that have nodes of it are over, too, and `schedule` is asked the next time, its graph has become another
   * request's (`Model.brings`) or has been taken apart.
   */
  ended?(request: Request): void;
}

export const IDLE: Decision = { kind: "idle" };
