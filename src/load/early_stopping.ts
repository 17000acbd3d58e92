/**
 * How many requests it takes to say that a percentile is within a limit: MLPerf's early stopping. With t requests
 * over the limit among n, a run passes for the percentile p if a system whose share within the limit is only p would
 * have had so few over with a probability of at most 1 %, or of what another confidence leaves.
 *
 * Source: mlcommons/inference, loadgen/early_stopping.cc and loadgen/README_EARLY_STOPPING.md; confidence 0.99,
 * tolerance 0.
 */
import { exp } from "../base/elementary/exponential.ts";
import { log, log1p } from "../base/elementary/logarithm.ts";

/** How sure a run makes one, unless another share is asked for. */
export const CONFIDENCE = 0.99;

/** Requests over the limit after which a run of any length is not looked at any further. */
const OVER_MAX = 1_000_000;

/** P[X <= t] of X binomial over n trials, each with probability q. */
function binomialUpTo(t: number, n: number, q: number): number {
  if (t >= n) return 1;
  const odds = log(q) - log1p(-q);
  // In logarithms: (1 - q)^n alone is below what a double holds for long runs.
  let term = n * log1p(-q);
  let max = term;
  let sum = 1;
  for (let k = 1; k <= t; k++) {
    term += log((n - k + 1) / k) + odds;
    if (term > max) {
      sum = sum * exp(max - term) + 1;
      max = term;
    } else sum += exp(term - max);
  }
  return exp(max + log(sum));
}

/**
 * Whether `over` of `requests` beyond a limit let one say that a share `p` of all is within it.
 * @param p share in (0, 1)
 * @param confidence share in (0, 1): of systems that are only just at p, how many do not pass
 */
export function passes(
  requests: number,
  over: number,
  p: number,
  confidence = CONFIDENCE,
): boolean {
  return over < requests &&
    binomialUpTo(over, requests, 1 - p) <= 1 - confidence;
}

/** The most requests over the limit with which a run still passes; -1 when it has too few requests to pass at all. */
export function overMost(
  requests: number,
  p: number,
  confidence = CONFIDENCE,
): number {
  let low = -1;
  const end = Math.min(OVER_MAX, requests);
  let high = Math.min(end, Math.ceil(requests * (1 - p)) + 1);
  // With a confidence below a half it may be more than are expected.
  while (high < end && passes(requests, high, p, confidence)) {
    low = high;
    high = Math.min(end, 2 * high);
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (passes(requests, middle, p, confidence)) low = middle;
    else high = middle;
  }
  return low;
}

/** Fewest requests with which a run passes although `over` of them were over the limit. */
export function requestsLeast(
  p: number,
  over: number,
  confidence = CONFIDENCE,
): number {
  let low = over;
  let high = Math.max(2, 2 * over);
  while (!passes(high, over, p, confidence)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (passes(middle, over, p, confidence)) high = middle;
    else low = middle;
  }
  return high;
}
