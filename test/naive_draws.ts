/** Tokens of decoders' steps by a naive reading of the rules, as vLLM's, OpenAI's and transformers' documents have them. */
import { Prng } from "../src/base/prng.ts";
import type { DrawInput, PenaltyInput } from "../src/models/draw_input.ts";

/** A request's tokens before a step. */
interface Before {
  readonly prompt: readonly number[];
  readonly answer: readonly number[];
}

/** Whether the last so many tokens are there before, as words of a text. */
function isRepeated(tokens: readonly number[], size: number): boolean {
  const runs = tokens.map((_, at) => tokens.slice(at, at + size))
    .filter(({ length }) => length === size).map(String);
  return size > 0 && runs.slice(0, -1).includes(runs.at(-1)!);
}

/**
 * Scores of one step as a request changes them.
 * @param ends ids that end answers
 */
export function naiveScores(
  request: PenaltyInput,
  scores: ArrayLike<number>,
  { prompt, answer }: Before,
  ends: readonly number[] = [],
): Float32Array {
  const { repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } =
    request;
  const { noRepeatNgramSize = 0, minTokens = 0, logitBias = {} } = request;
  return Float32Array.from(scores, (score, id) => {
    const times = answer.filter((one) => one === id).length;
    if (isRepeated([...prompt, ...answer, id], noRepeatNgramSize)) {
      return -Infinity;
    }
    if (answer.length < minTokens && ends.includes(id)) return -Infinity;
    let value = score + Math.fround(logitBias[id] ?? 0);
    if (times > 0 || prompt.includes(id)) {
      const factor = Math.fround(repetitionPenalty);
      value = value > 0 ? value / factor : value * factor;
    }
    return value - (Math.fround(frequencyPenalty) * times +
      (times > 0 ? Math.fround(presencePenalty) : 0));
  });
}

/** A number from 0 and below 1 for each step. */
export function naiveUniforms(seed: number, steps: number): number[] {
  const prng = new Prng(seed).fork("draws");
  return Array.from(
    { length: steps },
    () => Math.fround(Math.min(prng.float(), 1 - 2 ** -24)),
  );
}

/** The token that a request takes of changed scores; where none is left the lowest id that is not banned. */
export function naiveToken(
  { temperature = 0, topK = 0, topP = 1, minP = 0 }: DrawInput,
  scores: Float32Array,
  uniform: number,
  banned: readonly number[] = [],
): number {
  if (scores.every((score) => score === -Infinity)) {
    return [...scores.keys()].find((id) => !banned.includes(id))!;
  }
  const ids = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
  if (temperature === 0) return ids[0];
  const shares = new Map(ids.map((id) => [
    id,
    Math.exp((scores[id] - scores[ids[0]]) / Math.fround(temperature)),
  ]));
  const sum = (some: readonly number[]) =>
    some.reduce((sum, id) => sum + shares.get(id)!, 0);
  const likely = ids.filter((id) => shares.get(id)! >= Math.fround(minP))
    .slice(0, topK === 0 ? ids.length : topK);
  const nucleus = likely.filter((_, at) =>
    sum(likely.slice(0, at)) < Math.fround(topP) * sum(likely)
  );
  const at = nucleus.findIndex((_, at) =>
    uniform * sum(nucleus) < sum(nucleus.slice(0, at + 1))
  );
  return nucleus[at];
}
