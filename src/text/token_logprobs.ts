/** How likely tokens were: logarithms of the shares that a decoder's scores give them (softmax). */
import { exp } from "../base/elementary/exponential.ts";
import { log } from "../base/elementary/logarithm.ts";

/** A token, and how likely it was. */
export interface LikelyToken {
  /** Of the vocabulary. */
  readonly id: number;
  /** Natural logarithm of its probability, whatever temperature and limits it was drawn with. */
  readonly logprob: number;
}

/** A token of an answer, and those that were likely in its place. */
export interface TokenLogprobs extends LikelyToken {
  /** Characters of the answer in front of it. */
  readonly offset: number;
  /** As many as were asked for, the likeliest first; of equal ones that of the smaller id. */
  readonly top: readonly LikelyToken[];
}

/**
 * @param scores of all tokens
 * @param id the one that came
 * @param count how many others are told
 */
export function tokenLogprobs(
  scores: ArrayLike<number>,
  id: number,
  count: number,
): Omit<TokenLogprobs, "offset"> {
  let greatest = -Infinity;
  for (let i = 0; i < scores.length; i++) {
    greatest = Math.max(greatest, scores[i]);
  }
  let sum = 0;
  for (let i = 0; i < scores.length; i++) sum += exp(scores[i] - greatest);
  const whole = greatest + log(sum);
  const likely = (id: number) => ({ id, logprob: scores[id] - whole });
  return { ...likely(id), top: greatestIds(scores, count).map(likely) };
}

/** Ids of the greatest scores, in their order; there are few of them. */
function greatestIds(scores: ArrayLike<number>, count: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < scores.length; id++) {
    let at = ids.length;
    while (at > 0 && scores[ids[at - 1]] < scores[id]) at--;
    if (at >= count) continue;
    ids.splice(at, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}
