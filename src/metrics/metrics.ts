import type { Outcome } from "../policy/records.ts";
import type { CellTally } from "./collector.ts";

/** Of a set of durations; all NaN (null in JSON) when there are none. Percentiles are nearest-rank. */
export interface Distribution {
  /** Arithmetic mean. */
  readonly meanNs: number;
  /** Half of them took at most so long. */
  readonly p50Ns: number;
  /** Nine of ten did. */
  readonly p90Ns: number;
  /** 99 of 100 did. */
  readonly p99Ns: number;
  /** The longest. */
  readonly maxNs: number;
}

/** The tasks of one cell. */
export interface CellMetrics extends Readonly<CellTally> {
  /** The cell's name. */
  readonly cell: string;
}

/** What one run of one policy came to. Plain data. */
export interface Metrics {
  /** How many ended how. */
  readonly requests: Readonly<Record<Outcome, number>>;
  /** Scheduled arrival to departure, of the requests that were done, as the next two are. */
  readonly latency: Distribution;
  /** Scheduled arrival to the start of the first task. */
  readonly queueing: Distribution;
  /** Start of the first task to departure. */
  readonly compute: Distribution;
  /**
   * Entry k - 1 of n is the latency's k/n quantile: a CDF in at most 200 points.
   */
  readonly latencyQuantilesNs: readonly number[];
  /**
   * p90 of the latency of each fifth of the requests, in order of arrival: how far the figure moves
   * within the run. Empty below five requests.
   */
  readonly p90OfFifthsNs: readonly number[];
  /** First arrival to last departure. */
  readonly durationNs: number;
  /** Requests done per second of the duration. */
  readonly throughputPerS: number;
  /** How large batches were. */
  readonly batch: {
    /** Tasks in which anything ran, be it padding. */
    readonly tasks: number;
    /** Rows in them that advanced a request. */
    readonly rows: number;
    /** Rows per task: what a task saw. Padding and speculative rows do not count. */
    readonly meanRows: number;
    /** Mean over rows of the rows in their task: what a row saw. */
    readonly meanRowsByRow: number;
    /** [rows, tasks with that many], ascending. */
    readonly histogram: readonly (readonly [rows: number, tasks: number])[];
  };
  /** Padding of all rows; a row of a ragged cell counts as its tokens. */
  readonly paddingShare: number;
  /** Rows submitted ahead and void, of all rows (or tokens). */
  readonly speculativeShare: number;
  /** Workers of the executor. */
  readonly workers: number;
  /** Time in tasks, of all workers' time from first arrival to last departure or end of a task. */
  readonly utilisation: number;
  /** How many deadlines were missed. */
  readonly deadlines: {
    /** Requests that had one. */
    readonly requests: number;
    /** Of these: expired, or done too late. */
    readonly violated: number;
  };
  /** In the order in which they had their first task. */
  readonly cells: readonly CellMetrics[];
}
