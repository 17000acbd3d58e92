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

/** Sums over the tasks of one cell. */
export interface CellTally {
  tasks: number;
  rows: number;
  padding: number;
  speculative: number;
  /** Tokens that advanced a request, and padding; of a cell that is not ragged, its rows. */
  tokens: number;
  paddingTokens: number;
  busyNs: number;
}

export class Collector implements Observer {
  /** One entry per departed request, in order of departure. */
  readonly arrivalsNs = new Column();
  readonly startsNs = new Column();
  readonly endsNs = new Column();
  /** The earlier one of those for the start and for the end. */
  readonly deadlinesNs = new Column();
  /** Index into OUTCOMES. */
  readonly outcomes = new Column();
  readonly cells = new Map<string, CellTally>();
  /** Tasks by their rows; those in which nothing ran, all rows being void, are left out. */
  readonly tasksByRows = new Map<number, number>();
  /** Time each worker spent in tasks. */
  readonly busyNs: number[] = [];
  /** End of the last task: later than all requests' where they were given up meanwhile. */
  lastTaskNs = -Infinity;

  request(_request: Request | undefined, record: RequestRecord): void {
    this.arrivalsNs.push(record.arrivalNs);
    this.startsNs.push(record.startNs);
    this.endsNs.push(record.endNs);
    this.deadlinesNs.push(Math.min(record.deadlineNs, record.finishNs));
    this.outcomes.push(OUTCOMES.indexOf(record.outcome));
  }

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
