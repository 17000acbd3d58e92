/** Naive normalisations of one row in double precision. */

/** Layer normalisation; without mean for RMS normalisation. */
export function normalize(
  row: ArrayLike<number>,
  gamma: ArrayLike<number>,
  beta: ArrayLike<number> | undefined,
  epsilon: number,
  centered: boolean,
): Float64Array {
  const values = Float64Array.from(row);
  const n = values.length;
  const mean = centered ? values.reduce((a, b) => a + b, 0) / n : 0;
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / n;
  return values.map((x, j) =>
    (x - mean) / Math.sqrt(variance + epsilon) * gamma[j] + (beta?.[j] ?? 0)
  );
}

/** The k best elements of a row: values and indices, best first, the lower index among equals. */
export function topk(
  row: ArrayLike<number>,
  k: number,
  largest: boolean,
): { values: number[]; ids: number[] } {
  const ids = Array.from({ length: row.length }, (_, j) => j)
    .sort((a, b) => (largest ? row[b] - row[a] : row[a] - row[b]) || a - b)
    .slice(0, k);
  return { ids, values: ids.map((id) => row[id]) };
}
