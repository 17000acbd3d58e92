/**
 * The next token of a decoder, drawn: scores over the temperature, the `topK` largest of them, of these the fewest that
 * have `topP` of the whole ("nucleus", Holtzman et al., arXiv:1904.09751, section 3.1), and one of them by its share.
 * Order and ties as everywhere: largest first, the lower id of equal ones. In f64.
 */
import { plainOf } from "../tensor/plain_tensor.ts";
import { floats } from "./given.ts";
import { largestFirst } from "./largest_first.ts";
import type { PlainOperator } from "./operator.ts";

function indexOfLargest(scores: Float32Array): number {
  let best = 0;
  for (let id = 1; id < scores.length; id++) {
    if (scores[id] > scores[best] || Number.isNaN(scores[best])) best = id;
  }
  return best;
}

function draw(
  scores: Float32Array,
  [temperature, topK, topP]: Float32Array,
  uniform: number,
): number {
  const best = indexOfLargest(scores);
  const most = scores[best];
  if (temperature === 0) return best;
  if (Number.isNaN(most)) return 0;
  const weightOf = (id: number) =>
    // Of two infinite scores the difference is none.
    scores[id] === most ? 1 : Math.exp((scores[id] - most) / temperature);
  let ids: Iterable<number> = largestFirst(scores);
  let whole = 0;
  if (topK > 0) {
    ids = first(topK, ids);
    for (const id of ids) whole += weightOf(id);
  } else {
    for (let id = 0; id < scores.length; id++) {
      if (!Number.isNaN(scores[id])) whole += weightOf(id);
    }
  }
  let kept = whole;
  if (topP < 1) {
    const nucleus: number[] = [];
    kept = 0;
    for (const id of ids) {
      nucleus.push(id);
      kept += weightOf(id);
      if (kept >= topP * whole) break;
    }
    ids = nucleus;
  }
  let sum = 0;
  let last = best;
  for (const id of ids) {
    last = id;
    sum += weightOf(id);
    if (uniform * kept < sum) break;
  }
  return last;
}

function first(count: number, ids: Iterable<number>): number[] {
  const taken: number[] = [];
  for (const id of ids) {
    taken.push(id);
    if (taken.length >= count) break;
  }
  return taken;
}

/**
 * Inputs: scores [tokens]; temperature (0: the largest score), topK (0: all) and topP [3]; a number from 0 to 1 [1].
 * Output: an id, int32 without axes.
 */
export const SAMPLE_TOKEN: PlainOperator = {
  since: [1],
  types: ["float32"],
  run: (inputs) => {
    const [scores, settings, uniform] = [
      floats(inputs, 0, "scores"),
      floats(inputs, 1, "settings"),
      floats(inputs, 2, "draw"),
    ];
    const id = draw(scores.data, settings.data, uniform.data[0]);
    return [plainOf("int32", [], [id])];
  },
};
