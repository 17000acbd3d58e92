/** How fast a batch can be that reads its weights once and then computes, and where more rows are slower. */

/** What a call has to do, and how fast each part of it goes alone. */
export interface CallLimits {
  /** Operations. */
  count: number;
  /** Bytes of weights. */
  bytes: number;
  /** Of reading them from where they lie, GB/s. */
  readGBps: number;
  /** Of the arithmetic when nothing is waited for, G operations/s. */
  fullRate: number;
}

/**
 * G operations/s of reading the weights once and computing at full rate, one after the other. Kernels that do both
 * at once may be faster.
 */
export function boundRate(
  { count, bytes, readGBps, fullRate }: CallLimits,
): number {
  return count / (bytes / readGBps + count / fullRate);
}

/** What was measured at a number of rows. */
export interface MeasuredRates {
  rows: number;
  /** Best rate of each run. */
  runs: readonly number[];
}

/** Two runs can agree on a difference that neither would show again. */
const MARGIN = 0.98;

/**
 * Row counts that are slower than the one before by more than noise: every run's rate is below every rate there,
 * the best one by 2 % at least.
 */
export function fallingRows(points: readonly MeasuredRates[]): number[] {
  return points
    .filter(({ runs }, i) =>
      i > 0 && Math.max(...runs) < MARGIN * Math.min(...points[i - 1].runs)
    )
    .map(({ rows }) => rows);
}
