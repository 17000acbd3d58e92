/** Naive attention of one query row in double precision. */
import { softmax } from "./rows.ts";

/** Sizes of an attention. */
export interface AttentionSize {
  heads: number;
  kvHeads: number;
  headSize: number;
}

/**
 * softmax(scores) V over `length` positions, scores scale q K^T, of which `shift` makes what a head takes; keys and values
 * [position][kvHeads][headSize].
 */
export function attention(
  { heads, kvHeads, headSize }: AttentionSize,
  scale: number,
  q: ArrayLike<number>,
  keys: ArrayLike<number>,
  values: ArrayLike<number>,
  length: number,
  shift: (score: number, head: number, position: number) => number = (score) =>
    score,
): Float64Array {
  const out = new Float64Array(heads * headSize);
  for (let head = 0; head < heads; ++head) {
    const kv = Math.floor(head / (heads / kvHeads));
    const at = (t: number, i: number) => (t * kvHeads + kv) * headSize + i;
    const scores = Array.from({ length }, (_, t) => {
      let sum = 0;
      for (let i = 0; i < headSize; ++i) {
        sum += q[head * headSize + i] * keys[at(t, i)];
      }
      return shift(scale * sum, head, t);
    });
    softmax(scores).forEach((weight, t) => {
      for (let i = 0; i < headSize; ++i) {
        out[head * headSize + i] += weight * values[at(t, i)];
      }
    });
  }
  return out;
}

/** Additive attention: the mean of `length` values weighted by the softmax of v . tanh(q + k). */
export function additiveAttention(
  q: ArrayLike<number>,
  v: ArrayLike<number>,
  keys: ArrayLike<number>,
  values: ArrayLike<number>,
  { length, valueWidth }: { length: number; valueWidth: number },
): Float64Array {
  const out = new Float64Array(valueWidth);
  const scores = Array.from({ length }, (_, t) => {
    let sum = 0;
    for (let i = 0; i < q.length; ++i) {
      sum += v[i] * Math.tanh(q[i] + keys[t * q.length + i]);
    }
    return sum;
  });
  softmax(scores).forEach((weight, t) => {
    for (let i = 0; i < valueWidth; ++i) {
      out[i] += weight * values[t * valueWidth + i];
    }
  });
  return out;
}
