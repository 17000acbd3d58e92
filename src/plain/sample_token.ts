/**
 * The next token of a decoder, drawn: scores over the temperature, of them those that have `minP` of the largest one's
 * share (Nguyen et al., arXiv:2407.01082, section 3), the `topK` largest, of these the fewest that have `topP` of the
 * whole ("nucleus", Holtzman et al., arXiv:1904.09751, section 3.1), and one of them by its share. In vLLM's order;
 * transformers have `minP` last. Order and ties as everywhere: largest first, the lower id of equal ones. In f64.
 */
import { exp } from "../base/elementary/exponential.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../tensor/plain_tensor.ts";
import { floats, ints, optional, type PlainInputs } from "./given.ts";
import { largestFirst } from "./largest_first.ts";
import type {
  PlainAttributes,
  PlainContext,
  PlainOperator,
} from "./operator.ts";
import { changesScores, penalised, withToken } from "./penalties.ts";
import { runOperator } from "./run_operator.ts";

function indexOfLargest(scores: Float32Array): number {
  let best = 0;
  for (let id = 1; id < scores.length; id++) {
    if (scores[id] > scores[best] || Number.isNaN(scores[best])) best = id;
  }
  return best;
}

function draw(
  scores: Float32Array,
  [temperature, topK, topP, minP]: Float32Array,
  uniform: number,
  banned: readonly number[],
): number {
  const best = indexOfLargest(scores);
  const most = scores[best];
  // Those that are never chosen are not where no other may follow, either.
  if (most === -Infinity && banned.length > 0) {
    return scores.findIndex((_, id) => !banned.includes(id));
  }
  if (temperature === 0) return best;
  if (Number.isNaN(most)) return 0;
  const weightOf = (id: number) =>
    // Of two infinite scores the difference is none.
    scores[id] === most ? 1 : exp((scores[id] - most) / temperature);
  const isLikely = (id: number) => weightOf(id) >= minP;
  let ids: Iterable<number> = largestFirst(scores);
  let whole = 0;
  if (topK > 0 || minP > 0) {
    ids = first(topK > 0 ? topK : Infinity, ids, isLikely);
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

function first(
  count: number,
  ids: Iterable<number>,
  isTaken: (id: number) => boolean,
): number[] {
  const taken: number[] = [];
  for (const id of ids) {
    if (!isTaken(id)) break;
    taken.push(id);
    if (taken.length >= count) break;
  }
  return taken;
}

/** Changed scores, made anew only where there are more of them: fresh pages cost more than what is done with them. */
let room = new Float32Array(0);

/** Scores with some of them changed, where the next call has its own; the given ones where none is. */
function withChanged(
  scores: Float32Array,
  changed: ReadonlyMap<number, number>,
): Float32Array {
  if (changed.size === 0) return scores;
  if (room.length < scores.length) room = new Float32Array(scores.length);
  const made = room.subarray(0, scores.length);
  made.set(scores);
  for (const [id, score] of changed) made[id] = score;
  return made;
}

/**
 * Inputs: scores [tokens]; temperature (0: the largest score), topK (0: all), topP and minP (0: all) [4]; a number from 0
 * and below 1 [1]; or besides these, of who has penalties, tokens so far, int32, and a request's row of them.
 * Attributes: ids that are `banned`, whatever a request says of them; ids that are `ends` of answers.
 * Outputs: an id, int32 without axes; of who has penalties also the tokens so far and, where scores change by them,
 * this one.
 */
export const SAMPLE_TOKEN: PlainOperator = {
  since: [1],
  types: ["float32"],
  run: (inputs, attributes) => {
    const [scores, settings, uniform] = [
      floats(inputs, 0, "scores"),
      floats(inputs, 1, "settings"),
      floats(inputs, 2, "draw"),
    ];
    const history = optional(inputs, 3, "history", ["int32"]);
    const before = history?.data as Int32Array | undefined;
    const penalties = before && floats(inputs, 4, "penalties").data;
    const isChanged = penalties !== undefined && changesScores(penalties);
    const changed = before && isChanged
      ? penalised(
        scores.data,
        before,
        penalties,
        ints(attributes, "ends") ?? [],
      )
      : new Map<number, number>();
    const banned = ints(attributes, "banned") ?? [];
    for (const id of banned) changed.set(id, -Infinity);
    const said = withChanged(scores.data, changed);
    const id = draw(said, settings.data, uniform.data[0], banned);
    const next = plainOf("int32", [], [id]);
    if (!history || !before) return [next];
    const after = isChanged ? withToken(before, id) : before;
    return [next, plainTensor("int32", history.dims, after)];
  },
};

/**
 * Runs it where it is the one operator that may be asked for: who draws tokens loads no others.
 * @throws as `runPlain` does
 */
export function runSampleToken(
  name: string,
  inputs: PlainInputs,
  attributes: PlainAttributes,
  context: PlainContext,
): PlainTensor[] {
  return runOperator(name, SAMPLE_TOKEN, inputs, attributes, context);
}
