import type { Outcome } from "../policy/records.ts";

/** Of a set of durations; all NaN (null in JSON) when there are none. Percentiles are nearest-rank. */
export interface Distribution {
  readonly meanNs: number;
  readonly p50Ns: number;
  readonly p90Ns: number;
  readonly p99Ns: number;
  readonly maxNs: number;
}

export interface CellMetrics {
  readonly cell: string;
  readonly tasks: number;
  readonly rows: number;
  readonly padding: number;
  readonly speculative: number;
  /** Tokens that advanced a request, and padding; of a cell that is not ragged, its rows. */
  readonly tokens: number;
  readonly paddingTokens: number;
  readonly busyNs: number;
}

/** What one run of one policy came to. Plain data. */
export interface Metrics {
  readonly requests: Readonly<Record<Outcome, number>>;
  /** Scheduled arrival to departure, of the requests that were done; so are the next two. */
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
  readonly batch: {
    /** Tasks in which anything ran, be it padding. */
    readonly tasks: number;
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
  readonly workers: number;
  /** Time in tasks, of all workers' time from first arrival to last departure or end of a task. */
  readonly utilisation: number;
  readonly deadlines: {
    /** Requests that had one. */
    readonly requests: number;
    /** Of these: expired, or done too late. */
    readonly violated: number;
  };
  readonly cells: readonly CellMetrics[];
}
