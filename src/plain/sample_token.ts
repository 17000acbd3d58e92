/**
 * The next token of a decoder, drawn: scores over the temperature, the `topK` largest of them, of these the fewest that
 * have `topP` of the whole ("nucleus", Holtzman et al., arXiv:1904.09751, section 3.1), and one of them by its share.
 * Order and ties as everywhere: largest first, the lower id of equal ones. In f64.
 */
import { plainOf } from "../tensor/plain_tensor.ts";
import { floats } from "./given.ts";
import type { PlainOperator } from "./operator.ts";

/** Ids by score, the largest first; no more than `most`, and NaN never. */
function largest(scores: Float32Array, most: number): number[] {
  let least = -Infinity;
  if (most < scores.length) {
    const sorted = scores.filter((score) => !Number.isNaN(score)).sort();
    least = sorted[Math.max(0, sorted.length - most)] ?? least;
  }
  const ids: number[] = [];
  for (let id = 0; id < scores.length; id++) {
    if (scores[id] >= least) ids.push(id);
  }
  ids.sort((a, b) => scores[b] - scores[a] || a - b);
  return ids.slice(0, most);
}

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
  if (temperature === 0) return indexOfLargest(scores);
  const ids = largest(scores, topK > 0 ? topK : scores.length);
  if (ids.length === 0) return 0;
  const most = scores[ids[0]];
  const weights = ids.map((id) =>
    // Of two infinite scores the difference is none.
    scores[id] === most ? 1 : Math.exp((scores[id] - most) / temperature)
  );
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  let kept = 0;
  let count = 0;
  while (count < weights.length && (count === 0 || kept < topP * whole)) {
    kept += weights[count++];
  }
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += weights[i];
    if (uniform * kept < sum) return ids[i];
  }
  return ids[count - 1];
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
