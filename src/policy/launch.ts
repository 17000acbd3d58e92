import type { Cell } from "../graph/cell.ts";
import type { NodeOf, Request } from "./request.ts";

/** One batched task: rows of one cell. */
export interface Step<R extends Request = Request> {
  /** The cell that all of its rows are of. */
  readonly cell: Cell;
  /** One node per row, all of `cell`. May be empty in a padded run: a step that only padding takes. */
  readonly nodes: readonly NodeOf<R>[];
}

/**
 * The part of a run whose length nobody knows: growing steps of every request, until all are done, each
 * step cell by cell.
 */
export interface Tail<R extends Request = Request> {
  /** The cells of a growing step, in order. */
  readonly cells: readonly Cell[];
  /** The requests that grow, all of one model. */
  readonly requests: readonly R[];
}

/**
 * A resource that a paper models explicitly, such as DVABatch's buffer pairs: one buffer, held from the
 * start of a run to its end. The engine checks that nobody writes what another run reads or writes.
 */
export interface Token {
  /** Which buffer. */
  readonly id: string;
  /** What the run does to it. */
  readonly access: "read" | "write";
}

/** What a policy did to its own tables on the way to a decision, for the decision log. */
export interface Note {
  /** What was done, in the paper's word for it. */
  readonly op:
    | "push"
    | "preempt"
    | "merge"
    | "refuse"
    | "new"
    | "stretch"
    | "split"
    | "reconfigure";
  /** Ids of the requests it is about. */
  readonly requests: readonly number[];
  /** The rule that fired, with its figures. */
  readonly why: string;
}

/**
 * A decision to occupy a worker with a run of steps, as data. The engine copies its lists, so that a policy may use them
 * again for the next one.
 * @typeParam R requests as whoever reads it knows them
 */
export interface Launch<R extends Request = Request> {
  /** Id of the worker. */
  readonly worker: number;
  /** Executed in order; the worker is not given back between them. */
  readonly steps: readonly Step<R>[];
  /** What follows the steps, as long as its requests grow. */
  readonly tail?: Tail<R>;
  /**
   * Every step has this many rows: what requests leave open, also by being done before others, is
   * padding, computed and timed. Without it a step has the rows that its requests still need.
   */
  readonly paddedRows?: number;
  /**
   * Rows of ragged cells have this many tokens at least: what they leave open is padding, computed and
   * timed, and masked out of attention.
   */
  readonly paddedLength?: number;
  /**
   * "step": a request departs as soon as its last node is done;
   * "end": nobody departs before the whole run has ended (graph batching).
   */
  readonly release: "step" | "end";
  /** Buffers that the run holds. */
  readonly tokens?: readonly Token[];
  /** The rule that fired, for the decision log. */
  readonly why: string;
  /** What led to it, in order. */
  readonly notes?: readonly Note[];
}

/** One task of a launch, as the engine hands it to an executor and reports it back. */
export interface Task<R extends Request = Request> {
  /** Unique, ascending in order of submission. */
  readonly id: number;
  /** The launch that it is of, as `Observer.decided` has it. */
  readonly launchId: number;
  /** Id of the worker that executes it. */
  readonly worker: number;
  /** The cell that all of its rows are of. */
  readonly cell: Cell;
  /** One node per row of a request. */
  readonly nodes: readonly NodeOf<R>[];
  /** Rows computed into scratch only to fill the batch to its shape; timed like any other. */
  readonly padding: number;
  /** Rows of requests that are done are computed into scratch (true) or left out (false). */
  readonly padsDone: boolean;
  /**
   * Tokens that rows, and what they look back at of the input, are padded to; 0 unless the cell is ragged
   * or reads a cache of the input, and its run is padded.
   */
  readonly paddedLength: number;
  /**
   * Nobody waits for it alone: others of its run follow it, and an executor may report its end when it reports
   * theirs. Default false.
   */
  readonly quiet?: boolean;
}
