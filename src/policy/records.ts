/** What the engine tells an observer; metrics, traces and the decision log are made from these. */
import type { Launch, Task } from "./launch.ts";
import type { Request } from "./request.ts";

export type Outcome = "done" | "failed" | "cancelled" | "expired";

/** One request from its scheduled arrival to its departure. */
export interface RequestRecord {
  readonly id: number;
  readonly model: string;
  readonly arrivalNs: number;
  /** Start of its first task; NaN when none started. */
  readonly startNs: number;
  readonly endNs: number;
  readonly deadlineNs: number;
  readonly outcome: Outcome;
  /** Nodes of its graph that were done. */
  readonly nodes: number;
}

/** One executed task. */
export interface TaskRecord {
  readonly id: number;
  readonly launchId: number;
  readonly worker: number;
  readonly cell: string;
  /** Rows that advanced a request. */
  readonly rows: number;
  /** Rows computed only to fill a shape, finished requests included. */
  readonly padding: number;
  /** Of a ragged cell: tokens that advanced a request, and tokens computed only to fill a shape. */
  readonly tokens?: { readonly done: number; readonly padding: number };
  /** Rows submitted ahead that turned out to lie behind their request's end. */
  readonly speculative: number;
  readonly startNs: number;
  readonly endNs: number;
  /** Ids of the requests in the batch, in row order. */
  readonly requests: readonly number[];
}

/** Called synchronously by the engine; must not call back into it. */
export interface Observer {
  decided?(atNs: number, launch: Launch, launchId: number): void;
  waited?(atNs: number, untilNs: number, why?: string): void;
  task?(task: Task, record: TaskRecord): void;
  request?(request: Request, record: RequestRecord): void;
}
