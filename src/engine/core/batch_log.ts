import type { Task } from "../../policy/launch.ts";

/** A batch that a request was in. */
export interface LoggedBatch {
  /** Name of the cell. */
  readonly cell: string;
  /** Rows that advanced a request. */
  readonly rows: number;
  readonly worker: number;
  readonly startNs: number;
  readonly endNs: number;
}

/** Batches that a log keeps: a decoder may take many thousand steps. */
export const BATCHES_KEPT = 1024;

/** The batches that one request was in, in order: the first BATCHES_KEPT of them. */
export class BatchLog {
  readonly batches: LoggedBatch[] = [];
  /** All of them. */
  count = 0;
  #lastTask = -1;

  /** A row of the request was advanced by the task; several rows of one task make one batch. */
  add(task: Task, ran: Omit<LoggedBatch, "cell" | "worker">): void {
    if (task.id === this.#lastTask) return;
    this.#lastTask = task.id;
    this.count++;
    if (this.batches.length === BATCHES_KEPT) return;
    const { cell: { name: cell }, worker } = task;
    this.batches.push({ cell, worker, ...ran });
  }
}
