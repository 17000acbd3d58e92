/**
 * Texts that are as long as real ones: lengths come from the corpora (src/workload/corpora, which hold counts only),
 * words are frequent English ones, each a single word piece of the usual vocabularies, so that a text of n tokens has
 * n of them beside what a tokenizer puts around it.
 *
 * Assumption: words are drawn after Zipf's law, which matters to a tokenizer's cache and to nothing else.
 */
import { describe } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";
import type { LengthSampler } from "../workload/lengths.ts";

/** A text and its length. */
export interface Text {
  readonly text: string;
  /** Words and full stops. */
  readonly tokens: number;
}

/** What texts are made after. */
export interface TextOptions {
  readonly lengths: LengthSampler;
  /** Sentences of a text; default 1 to 1. */
  readonly sentences?: readonly [least: number, most: number];
  /** Texts of other lengths are drawn anew; default: any. */
  readonly tokens?: readonly [least: number, most: number];
}

/** Draws of one text before its options are taken for a contradiction. */
const DRAWS_MAX = 10_000;

/** Frequent English words, most frequent first. */
export const WORDS: readonly string[] =
  ("the of and to in that is was he for it with as his on be at by had not are but from or have an they which one you " +
    "were her all she there would their we him been has when who will more no if out so said what up its about into " +
    "than them can only other new some could time these two may then do first any my now such like our over man me " +
    "even most made after also did many before must through back years where much your way well down should because " +
    "each just those people how too little state good very make world still own see men work long get here between " +
    "both life being under never day same another know while last might us great old year off come since against go " +
    "came right used take three").split(" ");

/** Weights of the words, each added to those before it. */
const UP_TO = WORDS.reduce<number[]>(
  (sums, _, i) => [...sums, (sums.at(-1) ?? 0) + 1 / (i + 1)],
  [],
);

/**
 * A text.
 * @throws RangeError when no text of the corpus is as long as asked for
 */
export function sampleText(
  { lengths, sentences = [1, 1], tokens = [1, Infinity] }: TextOptions,
  prng: Prng,
): Text {
  const [least, most] = tokens;
  for (let draw = 0; draw < DRAWS_MAX; draw++) {
    const count = sentences[0] + prng.int(sentences[1] - sentences[0] + 1);
    const parts = Array.from(
      { length: count },
      () => lengths.sample(prng)[lengths.english],
    );
    const total = parts.reduce((sum, part) => sum + part, 0);
    if (total < least || total > most) continue;
    return {
      text: parts.map((part) => sentence(part, prng)).join(" "),
      tokens: total,
    };
  }
  throw new RangeError(
    `No ${describe(`${sentences[0]} to ${sentences[1]}`)} sentences of ${
      describe(lengths.name)
    } have ${least} to ${most} tokens`,
  );
}

/** Words and, from two tokens on, a full stop. */
function sentence(tokens: number, prng: Prng): string {
  const words = Array.from(
    { length: Math.max(1, tokens - 1) },
    () => word(prng),
  );
  return words.join(" ") + (tokens > 1 ? "." : "");
}

function word(prng: Prng): string {
  const at = prng.float() * UP_TO[UP_TO.length - 1];
  let low = 0;
  let high = UP_TO.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (UP_TO[middle] > at) high = middle;
    else low = middle + 1;
  }
  return WORDS[low];
}
