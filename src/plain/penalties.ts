/**
 * What scores of tokens lose for having been there, and what a request adds to them.
 * Source: vLLM, `apply_penalties`, and its order: what is added, `repetition` (Keskar et al., arXiv:1909.05858, section
 * 4.1, by sign as transformers have it), then `frequency` and `presence` (OpenAI). Runs that do not come twice are
 * transformers' alone (`NoRepeatNGramLogitsProcessor`); answers of so many tokens at least are of both (vLLM,
 * `MinTokensLogitsProcessor`).
 */

/** What a request says of its scores. */
export interface Penalties {
  /** Scores above 0 of tokens of prompt and answer are divided by it, others multiplied; 1: nothing changes. */
  readonly repetition: number;
  /** What scores of the answer's tokens lose. */
  readonly presence: number;
  /** What they lose for each time. */
  readonly frequency: number;
  /** No run of so many tokens comes twice; 0: any may. */
  readonly noRepeat: number;
  /** Before the answer has so many tokens none of those that end it is taken; 0: any may be. */
  readonly least: number;
  /** What is added, by the token's id; at most `BIASES_MAX`. */
  readonly biases: readonly (readonly [id: number, added: number])[];
}

/** Most tokens whose scores a request adds to. */
export const BIASES_MAX = 300;

/** Tokens of a history that were not drawn yet, and ids of biases that are none. */
const NONE = -1;

/** Places of a row before ids and biases in turns. */
const HEAD = 6;

/** Floats of a request's row. */
export const PENALTIES = HEAD + 2 * BIASES_MAX;

/** A request's row: its numbers, tokens of its prompt, then ids and what they get. */
export function penaltyRow(
  { repetition, presence, frequency, noRepeat, least, biases }: Penalties,
  promptTokens: number,
): Float32Array {
  const row = new Float32Array(PENALTIES).fill(NONE);
  const numbers = [repetition, presence, frequency, noRepeat];
  row.set([...numbers, promptTokens, least, ...biases.flat()]);
  return row;
}

/** Whether a request's row changes anything; tokens so far are nobody's business otherwise. */
export function changesScores(row: Float32Array): boolean {
  const [, , , noRepeat, , least] = row;
  return row[HEAD] !== NONE || isLosing(row) || noRepeat > 0 || least > 0;
}

function isLosing([repetition, presence, frequency]: Float32Array): boolean {
  return repetition !== 1 || presence !== 0 || frequency !== 0;
}

/** Tokens so far, of at most `most`: those of the prompt. */
export function historyOf(prompt: Int32Array, most: number): Int32Array {
  const history = new Int32Array(most).fill(NONE);
  history.set(prompt);
  return history;
}

/** A history and one more token; the last one has no place where all positions are taken, and nobody reads it. */
export function withToken(history: Int32Array, id: number): Int32Array {
  const made = history.slice();
  const end = made.indexOf(NONE);
  if (end >= 0) made[end] = id;
  return made;
}

/**
 * What scores become that a request changes, by the token's id: in f64, rounded where they are written.
 * @param ends ids that end answers
 */
export function penalised(
  scores: Float32Array,
  history: Int32Array,
  row: Float32Array,
  ends: readonly number[],
): Map<number, number> {
  const [repetition, presence, frequency, noRepeat, promptTokens, least] = row;
  const changed = new Map<number, number>();
  for (let at = HEAD; at < row.length && row[at] !== NONE; at += 2) {
    changed.set(row[at], scores[row[at]] + row[at + 1]);
  }
  const times = isLosing(row) ? timesOf(history, promptTokens) : [];
  for (const [id, count] of times) {
    // Tables that tokens are looked up in may be longer than scores are.
    if (id >= scores.length) continue;
    const score = changed.get(id) ?? scores[id];
    const left = score > 0 ? score / repetition : score * repetition;
    const lost = count > 0 ? frequency * count + presence : 0;
    changed.set(id, left - lost);
  }
  for (const id of repeating(history, noRepeat)) changed.set(id, -Infinity);
  if (lengthOf(history) - promptTokens < least) {
    for (const id of ends) changed.set(id, -Infinity);
  }
  return changed;
}

/** Tokens that a history has. */
function lengthOf(history: Int32Array): number {
  const end = history.indexOf(NONE);
  return end < 0 ? history.length : end;
}

/** How often tokens of a history are in the answer; 0: in the prompt alone. */
function timesOf(
  history: Int32Array,
  promptTokens: number,
): Map<number, number> {
  const times = new Map<number, number>();
  for (let at = 0; at < history.length && history[at] !== NONE; at++) {
    const id = history[at];
    times.set(id, (times.get(id) ?? 0) + (at < promptTokens ? 0 : 1));
  }
  return times;
}

/** Tokens that would end a run of `size` that there is, of prompt and answer; 0: none. */
function* repeating(history: Int32Array, size: number): Generator<number> {
  const length = lengthOf(history);
  const from = length - size + 1;
  for (let at = 0; size > 0 && at + size <= length; at++) {
    let same = 0;
    while (same < size - 1 && history[at + same] === history[from + same]) {
      same++;
    }
    if (same === size - 1) yield history[at + same];
  }
}
