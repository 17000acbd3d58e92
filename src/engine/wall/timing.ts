import { NS_PER_MS } from "../../base/units.ts";
import type { ActiveRequest } from "../core/active_request.ts";

/** A batch that a request was in. */
export interface BatchTiming {
  /** Name of the cell. */
  readonly cell: string;
  /** Rows in the batch that advanced a request, this one's included; padding does not count. */
  readonly batchSize: number;
  /** Number of the worker that computed it. */
  readonly worker: number;
  /** When it started, counted from the call. */
  readonly startedMs: number;
  /** How long it took. */
  readonly ranMs: number;
}

/** How long a request took, in milliseconds of the wall clock. */
export interface Timing {
  /** From the call to the start of its first batch. */
  readonly queuedMs: number;
  /** From there to the end of its last batch, or of the run that held its result (graph batching). */
  readonly ranMs: number;
  /**
   * The batches that it was in, in the order in which the engine heard of their ends; the first 1024 of
   * them. Only with `batches: true` in RequestOptions.
   */
  readonly batches?: readonly BatchTiming[];
  /** How many batches it was in; only with `batches: true`. */
  readonly batchCount?: number;
}

/** @param endNs when the request departed */
export function timingOf(
  { arrivalNs, startNs, log }: ActiveRequest,
  endNs: number,
): Timing {
  const timing = {
    queuedMs: msBetween(arrivalNs, startNs),
    ranMs: msBetween(startNs, endNs),
  };
  if (log === undefined) return timing;
  return {
    ...timing,
    batches: log.batches.map(({ cell, rows, worker, startNs, endNs }) => ({
      cell,
      batchSize: rows,
      worker,
      startedMs: msBetween(arrivalNs, startNs),
      ranMs: msBetween(startNs, endNs),
    })),
    batchCount: log.count,
  };
}

/** Threads' clocks may differ by microseconds. */
function msBetween(fromNs: number, toNs: number): number {
  return Math.max(0, toNs - fromNs) / NS_PER_MS;
}
