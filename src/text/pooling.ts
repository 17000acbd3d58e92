/** Rows of tokens as one row for a text. Sums in f64, in order, rounded once: the same bits in every batch. */
import { exp } from "../base/elementary/exponential.ts";

/** Which tokens' rows make a text's: their mean, that of the first token ([CLS]), or of the last. */
export type Pooling = "mean" | "cls" | "last";

/** All poolings. */
export const POOLINGS: readonly Pooling[] = ["mean", "cls", "last"];

/**
 * One row of the first `rows` of `width` elements.
 * Source: sentence-transformers, `Pooling.forward`.
 * @param first how many rows in front do not count in a mean; where there are no others, it is of zeros
 */
export function pooled(
  data: Float32Array,
  rows: number,
  width: number,
  pooling: Pooling,
  first = 0,
): Float32Array {
  if (pooling === "cls") return data.slice(0, width);
  if (pooling === "last") return data.slice((rows - 1) * width, rows * width);
  const sums = new Float64Array(width);
  for (let row = first; row < rows; row++) {
    for (let i = 0; i < width; i++) sums[i] += data[row * width + i];
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(1, rows - first));
}

/** Least length that a row is divided by. Source: PyTorch, `torch.nn.functional.normalize`. */
const LENGTH_MIN = 1e-12;

/** The row at length 1 (L2). */
export function normalized(row: Float32Array): Float32Array {
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i] * row[i];
  const length = Math.max(Math.sqrt(sum), LENGTH_MIN);
  return row.map((value) => value / length);
}

/** Scores as probabilities that are 1 together. */
export function softmax(scores: Float32Array): Float32Array {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = Float64Array.from(scores, (score) => exp(score - most));
  const sum = weights.reduce((a, b) => a + b, 0);
  return Float32Array.from(weights, (weight) => weight / sum);
}

/** Each score as a probability of its own. */
export function sigmoid(scores: Float32Array): Float32Array {
  return Float32Array.from(scores, (score) => 1 / (1 + exp(-score)));
}
