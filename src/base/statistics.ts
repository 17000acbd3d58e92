/**
 * Nearest-rank percentile: the smallest value such that a share `p` of all values is at most it.
 * @param sorted ascending values
 * @param p share in (0, 1]
 * @returns NaN when there are no values
 */
export function percentile(sorted: ArrayLike<number>, p: number): number {
  if (!(p > 0 && p <= 1)) {
    throw new RangeError(`A percentile is in (0, 1], got ${p}`);
  }
  if (sorted.length === 0) return NaN;
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)];
}

/** Arithmetic mean; NaN when there are no values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
}

/** A copy in ascending order. */
export function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).sort();
}
