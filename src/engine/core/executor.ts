import type { CellNode, NodeOutput } from "../../graph/cell_graph.ts";
import type { Result } from "../../graph/result.ts";
import type { ResultRows } from "../../graph/result_rows.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest, ActiveSession } from "./active_request.ts";

/** What became of one row of a completed task. */
export type Settlement =
  | "done"
  /** Done, and it was the last growing step of its request. */
  | "last"
  /** Not executed: its request had ended before the row's turn. */
  | "void"
  /** The row failed; its batch-mates did not. */
  | Error;

/** Where sessions keep their state from frame to frame. */
export interface SessionMemory {
  /**
   * Makes room for a session that has none.
   * @throws RangeError when there is never room for it
   * @throws QueueFullError when there is none now
   */
  open(session: ActiveSession): void;
  /** Writes its state, as `save` returned it; undefined: as its model says that it begins. */
  load(session: ActiveSession, state: Uint8Array | undefined): void;
  /** A copy of its state: all rows one after the other. Not while a frame is under way. */
  save(session: ActiveSession): Uint8Array;
  /** Gives its room away. */
  close(session: ActiveSession): void;
}

/**
 * Executes tasks, first in first out on each worker, and reports every completion to
 * `EngineCore.completed`. The engine never asks it for the time.
 */
export interface Executor {
  /** How many there are; their ids are 0 to workers - 1. */
  readonly workers: number;
  /**
   * Makes room for a request and brings its inputs in; a frame has its session's room.
   * @throws RangeError when there is never room for it
   * @throws QueueFullError when there is none now: it may be called again, for the same graph, when there may be some
   */
  admit(request: ActiveRequest): void;
  /** A growing graph got this node; it will be submitted next. */
  grew(request: ActiveRequest, node: CellNode): void;
  /** Queues a task behind those the worker already has. */
  push(task: Task<ActiveRequest>): void;
  /** Called once per row, in row order, when its task is reported complete. */
  settle(
    task: Task<ActiveRequest>,
    node: CellNode,
    request: ActiveRequest,
  ): Settlement;
  /** Rows of the request that have not started need not be executed. */
  abandon(request: ActiveRequest): void;
  /**
   * The request's results when it is done, or those of some of its rows, which are.
   * @param rows by the results' names; default: all that it has
   */
  result(
    request: ActiveRequest,
    rows?: ReadonlyMap<string, ResultRows<NodeOutput>>,
  ): Result;
  /** Nothing in flight refers to the request any more. */
  release(request: ActiveRequest): void;
  /** An executor without it has no sessions. */
  readonly sessions?: SessionMemory;
}
