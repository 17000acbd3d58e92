/**
 * Percentiles with confidence intervals, which go from one of the values to another: as far from the percentile's rank
 * as the number of values beyond it may be off by chance. Latencies of requests that are near in time depend on each
 * other (they met in a queue), so that this number varies as it does from block to block of consecutive requests; never
 * less than if they were independent.
 *
 * Source: Woodruff, "Confidence Intervals for Medians and Other Position Measures" (JASA 1952), with the variance of
 * batch means and Student's t. The block bootstrap that was here before held the 99th percentile of 1,000 requests to
 * a queue at half of its load in 70 of 100 runs instead of 95.
 */
import { ascending, percentile } from "../base/statistics.ts";
import { requestsLeast } from "./early_stopping.ts";

/** Blocks that a run is cut into. */
const BLOCKS = 20;
/** Student's t of 95 %, two-sided, with one degree of freedom less. */
const STUDENT = 2.093;

/** A percentile, and where it is with a confidence of 95 %. */
export interface Estimate {
  /** Share in (0, 1). */
  readonly share: number;
  /** NaN where there are too few requests to speak of it (null in JSON). */
  readonly ns: number;
  /** NaN where a run has too few requests for the end of the interval (null in JSON), as `highNs`. */
  readonly lowNs: number;
  readonly highNs: number;
}

/** Percentiles that are told. */
export const SHARES = [0.5, 0.9, 0.99, 0.999] as const;

/**
 * Percentiles of durations, nearest rank.
 * @param valuesNs in the order of their requests
 * @param stopping confidence of early stopping, which says of how many requests a percentile can be told; default MLPerf's
 */
export function estimates(
  valuesNs: ArrayLike<number>,
  shares: readonly number[] = SHARES,
  stopping?: number,
): Estimate[] {
  const count = valuesNs.length;
  const sorted = ascending(Array.from(valuesNs));
  return shares.map((share) => {
    // Above the median, a percentile without a request beyond it would be the largest value, whatever it is.
    const isKnown = count > 0 &&
      (share <= 0.5 || count >= requestsLeast(share, 0, stopping));
    if (!isKnown) return { share, ns: NaN, lowNs: NaN, highNs: NaN };
    const ns = percentile(sorted, share);
    if (count < BLOCKS) return { share, ns, lowNs: NaN, highNs: NaN };
    const ranks = STUDENT * deviation(valuesNs, ns, share);
    return {
      share,
      ns,
      lowNs: sorted[Math.floor(share * count - ranks) - 1] ?? NaN,
      highNs: sorted[Math.ceil(share * count + ranks) - 1] ?? NaN,
    };
  });
}

/** Standard deviation of the number of values beyond a limit, which a share of them is within. */
function deviation(
  valuesNs: ArrayLike<number>,
  limitNs: number,
  share: number,
): number {
  const count = valuesNs.length;
  const sizes = new Uint32Array(BLOCKS);
  const beyond = new Uint32Array(BLOCKS);
  let all = 0;
  for (let i = 0; i < count; i++) {
    const block = Math.floor(i * BLOCKS / count);
    sizes[block]++;
    if (valuesNs[i] <= limitNs) continue;
    beyond[block]++;
    all++;
  }
  let squares = 0;
  for (let block = 0; block < BLOCKS; block++) {
    squares += (beyond[block] - all / count * sizes[block]) ** 2;
  }
  const independent = count * share * (1 - share);
  return Math.sqrt(Math.max(independent, squares * BLOCKS / (BLOCKS - 1)));
}
