/**
 * Books of one run: a line per request, sums per cell and worker for tasks. Costs a few additions
 * per task and keeps no object, so that it can stay on in every run.
 */
import type { Task } from "../policy/launch.ts";
import type {
  Observer,
  Outcome,
  RequestRecord,
  TaskRecord,
} from "../policy/records.ts";
import type { Request } from "../policy/request.ts";
import { Column } from "./column.ts";

/** In the order of their codes in `Collector.outcomes`. */
export const OUTCOMES: readonly Outcome[] = [
  "done",
  "failed",
  "cancelled",
  "expired",
];

/** Sums over the tasks of one cell, as {@linkcode TaskRecord} has them. */
export interface CellTally {
  /** How many there were. */
  tasks: number;
  /** Rows that advanced a request. */
  rows: number;
  /** Rows computed only to fill a shape. */
  padding: number;
  /** Rows submitted ahead that lay behind their request's end. */
  speculative: number;
  /** Tokens that advanced a request; of a cell that is not ragged, its rows. */
  tokens: number;
  /** Tokens computed only to fill a shape; of a cell that is not ragged, its rows. */
  paddingTokens: number;
  /** Time in them. */
  busyNs: number;
}

/**
 * An engine's `observer` that keeps the books of a run, on virtual time or on the clock: a few numbers for each request,
 * sums for tasks. {@linkcode summarize} works them out. One for each run.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, ServingEngine } from "@shoal/core";
 * import { Collector, summarize } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
 * const collector = new Collector();
 * const engine = await ServingEngine.create({ models: [model], workers: 0, observer: collector });
 * await Promise.all([[1, 2], [3]].map((tokens) => engine.run(model, { tokens })));
 * await engine.close();
 * const { requests, cells } = summarize(collector);
 * assert.equal(requests.done, 2);
 * assert.deepEqual(cells.map(({ cell, rows }) => `${cell} ${rows}`), ["lstm_step 3", "lstm_head 2"]);
 * ```
 */
export class Collector implements Observer {
  /** When each request was due; one entry per departed request, in order of departure, as in all columns. */
  readonly arrivalsNs: Column = new Column();
  /** Start of its first task; NaN when none started. */
  readonly startsNs: Column = new Column();
  /** When it departed. */
  readonly endsNs: Column = new Column();
  /** The earlier one of its deadlines for the start and for the end; Infinity without one. */
  readonly deadlinesNs: Column = new Column();
  /** How it ended: the place in "done", "failed", "cancelled", "expired", from 0. */
  readonly outcomes: Column = new Column();
  /** By the cell's name. */
  readonly cells: Map<string, CellTally> = new Map();
  /** Tasks by their rows; those in which nothing ran, all rows being void, are left out. */
  readonly tasksByRows: Map<number, number> = new Map();
  /** Time each worker spent in tasks. */
  readonly busyNs: number[] = [];
  /** End of the last task: later than all requests' where they were given up meanwhile. */
  lastTaskNs: number = -Infinity;

  /** Takes down a request that departed. */
  request(_request: Request | undefined, record: RequestRecord): void {
    this.arrivalsNs.push(record.arrivalNs);
    this.startsNs.push(record.startNs);
    this.endsNs.push(record.endNs);
    this.deadlinesNs.push(Math.min(record.deadlineNs, record.finishNs));
    this.outcomes.push(OUTCOMES.indexOf(record.outcome));
  }

  /** Takes down a task that was executed. */
  task(_task: Task | undefined, record: TaskRecord): void {
    let tally = this.cells.get(record.cell);
    if (tally === undefined) {
      tally = {
        ...{ tasks: 0, rows: 0, padding: 0, speculative: 0 },
        ...{ tokens: 0, paddingTokens: 0, busyNs: 0 },
      };
      this.cells.set(record.cell, tally);
    }
    const { rows, worker } = record;
    const tookNs = record.endNs - record.startNs;
    tally.tasks++;
    tally.rows += rows;
    tally.padding += record.padding;
    tally.speculative += record.speculative;
    tally.tokens += record.tokens?.done ?? rows;
    tally.paddingTokens += record.tokens?.padding ?? record.padding;
    tally.busyNs += tookNs;
    this.lastTaskNs = Math.max(this.lastTaskNs, record.endNs);
    if (rows + record.padding > 0) {
      this.tasksByRows.set(rows, (this.tasksByRows.get(rows) ?? 0) + 1);
    }
    while (this.busyNs.length <= worker) this.busyNs.push(0);
    this.busyNs[worker] += tookNs;
  }
}
