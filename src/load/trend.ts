/**
 * Whether a quantity still grows: Mann and Kendall's test of a monotonic trend, without ties.
 * Source: Kendall, Rank Correlation Methods (1975), chapter 4.
 */

/** One-sided 1 %. */
const Z_MIN = 2.326;

/** Whether later values are larger than earlier ones by more than chance (one-sided, 1 %). */
export function grows(values: readonly number[]): boolean {
  const n = values.length;
  let score = 0;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) score += Math.sign(values[j] - values[i]);
  }
  const variance = n * (n - 1) * (2 * n + 5) / 18;
  return score > 0 && (score - 1) / Math.sqrt(variance) > Z_MIN;
}
