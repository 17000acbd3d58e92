/** What the engine tells an observer; metrics, traces and the decision log are made from these. */
import type { Launch, Task } from "./launch.ts";
import type { Request } from "./request.ts";

/**
 * How a request ended: "done" with a result; "failed": a row of it, its model's function or the engine did;
 * "cancelled" by its caller; "expired": a deadline passed, `deadlineMs` before it started or `finishMs` before it
 * had finished.
 */
export type Outcome = "done" | "failed" | "cancelled" | "expired";

/** One request from its scheduled arrival to its departure. */
export interface RequestRecord {
  /** See `Request.id`. */
  readonly id: number;
  /** What its caller calls it (`RequestOptions.label`), if it does. */
  readonly label?: string;
  /** The model's name. */
  readonly model: string;
  /** When it was due to arrive. */
  readonly arrivalNs: number;
  /** Start of its first task; NaN when none started. */
  readonly startNs: number;
  /** When it departed: its last task ended, or it was given up. */
  readonly endNs: number;
  /** When it had to have started, Infinity: whenever. */
  readonly deadlineNs: number;
  /** When it had to have departed, Infinity: whenever. */
  readonly finishNs: number;
  /** How it ended. */
  readonly outcome: Outcome;
  /** Nodes of its graph that were done. */
  readonly nodes: number;
}

/** One executed task. */
export interface TaskRecord {
  /** See `Task.id`. */
  readonly id: number;
  /** See `Task.launchId`. */
  readonly launchId: number;
  /** Id of the worker that executed it. */
  readonly worker: number;
  /** The cell's name. */
  readonly cell: string;
  /** Rows that advanced a request. */
  readonly rows: number;
  /** Rows computed only to fill a shape, finished requests included. */
  readonly padding: number;
  /** Of a ragged cell: tokens that advanced a request, and tokens computed only to fill a shape. */
  readonly tokens?: { readonly done: number; readonly padding: number };
  /** Rows submitted ahead that turned out to lie behind their request's end. */
  readonly speculative: number;
  /** When the worker began it. */
  readonly startNs: number;
  /** When the worker was done with it. */
  readonly endNs: number;
  /** Ids of the requests in the batch, in row order. */
  readonly requests: readonly number[];
}

/**
 * Hooks that the engine calls synchronously, for metrics, traces and logs; they must not call back into it. Nodes, and
 * the graph of a request, are to be read there and then: once the request is over they are another's (`Model.brings`) or
 * lead nowhere. Records stay as they are.
 */
export interface Observer {
  /** The policy launched something. */
  decided?(atNs: number, launch: Launch, launchId: number): void;
  /** The policy waits for more, until `untilNs` at the latest. */
  waited?(atNs: number, untilNs: number, why?: string): void;
  /** A task was executed. */
  task?(task: Task, record: TaskRecord): void;
  /** A request departed. */
  request?(request: Request, record: RequestRecord): void;
}
