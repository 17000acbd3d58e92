/** Naive row-wise kernels. */

/** Index of the greatest element; the lowest wins ties, NaN never wins. */
export function argmax(row: ArrayLike<number>): number {
  let id = 0;
  let best = -Infinity;
  for (let j = 0; j < row.length; ++j) {
    if (row[j] > best) {
      best = row[j];
      id = j;
    }
  }
  return id;
}

/** e^(x - max) / sum, in double precision. */
export function softmax(row: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(row);
  const max = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((value) => Math.exp(value - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}
