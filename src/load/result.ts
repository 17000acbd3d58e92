import type { Estimate } from "./confidence.ts";
import type { End } from "./ledger.ts";
import type { MachineUse } from "./machine.ts";

/** Something that a run must be for its figures to mean anything. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was found, in words; of a check that failed, what to do about it as well. */
  readonly found: string;
}

/** What was asked of the server. */
export interface Target {
  readonly sloNs: number;
  /** Share of the requests that have to be answered within it. */
  readonly share: number;
  /** With which this has to be shown, in (0, 1); default MLPerf's, 0.99. */
  readonly confidence?: number;
}

/** How it was met. */
export interface Verdict extends Target {
  /** Requests that were not answered within the target: late, refused or failed. */
  readonly over: number;
  /**
   * The most that there may be of so many requests, without those whose client left (MLPerf's early stopping); -1: there
   * are too few requests.
   */
  readonly overMost: number;
  readonly holds: boolean;
}

/** A piece of the run. */
export interface Slice {
  /** Its middle, from the end of the warm-up; negative before. */
  readonly atS: number;
  /** Requests that were due in it, and what became of them, per second. */
  readonly offeredPerS: number;
  readonly completedPerS: number;
  readonly refusedPerS: number;
  readonly failedPerS: number;
  /** Latency of those completed; NaN (null in JSON) without any. */
  readonly p50Ns: number;
  readonly p99Ns: number;
  /** How late the generator came to them. */
  readonly lagP99Ns: number;
}

/** Of a set of durations; NaN (null in JSON) when there are none. */
export interface Spread {
  readonly p50Ns: number;
  readonly p99Ns: number;
  readonly maxNs: number;
}

/** What a run came to. Plain data: it survives JSON, where NaN becomes null. */
export interface LoadResult {
  readonly arrivals: string;
  /** Time in which the requests that count were due. */
  readonly seconds: number;
  readonly warmUpS: number;
  /** Requests that count. */
  readonly requests: number;
  /** MLPerf's scheduled rate: (n - 1) / time from the first to the last. */
  readonly scheduledPerS: number;
  readonly ends: Readonly<Record<End, number>>;
  /** Completed, but not within the target; 0 without one. */
  readonly late: number;
  /** Why requests failed or were refused, with how many, most first. */
  readonly reasons: readonly (readonly [string, number])[];
  /** Requests completed per second: those that were completed while requests were due, warm-up aside. */
  readonly throughputPerS: number;
  /** Of the requests that count, those completed within the target, per second; all completed without a target. */
  readonly goodputPerS: number;
  /** From when it was due to its end, of requests completed. */
  readonly latency: readonly Estimate[];
  /** From when it was sent: what a generator that waits for answers would see. */
  readonly service: readonly Estimate[];
  /** Entry k - 1 of n is the latency's k/n quantile. */
  readonly quantilesNs: readonly number[];
  /** From when it was sent to its end, of requests refused. */
  readonly refusal: Spread;
  /** Of streams: from when it was due to the first event, and from one event to the next; undefined without any. */
  readonly stream?: {
    readonly firstEvent: readonly Estimate[];
    readonly between: Spread;
    readonly eventsPerS: number;
  };
  /** From when it was due to when the generator came to it. */
  readonly lag: Spread;
  /** From then to when it had a connection. */
  readonly connectionWait: Spread;
  /** Most requests that were open at a time. */
  readonly openMost: number;
  readonly machine?: MachineUse;
  readonly slices: readonly Slice[];
  readonly verdict?: Verdict;
  readonly checks: readonly Check[];
  /** Whether all checks are passed. */
  readonly isValid: boolean;
}
