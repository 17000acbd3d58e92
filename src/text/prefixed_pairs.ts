/**
 * Byte pairs of files that mark what continues a word (`continuing_subword_prefix`, such as "##"), which
 * `@huggingface/tokenizers` merges as if the mark were part of the text.
 * Source: Hugging Face tokenizers, `models/bpe`.
 */
import { describe } from "../base/describe.ts";
import { EventHeap } from "../base/event_heap.ts";
import { TextFileError } from "./errors.ts";

type Json = Readonly<Record<string, unknown>>;

/** Two tokens side by side become one, those of the least order first, and of these the first one in the word. */
interface Merge {
  readonly order: number;
  readonly token: string;
}

/**
 * What cuts a word into tokens.
 * @param model of the file
 * @throws TextFileError on a merge whose tokens are not in the vocabulary
 */
export function prefixedPairs(model: Json): (word: string) => string[] {
  const vocab = (model["vocab"] ?? {}) as Json;
  const isToken = (token: string) => Object.hasOwn(vocab, token);
  const prefix = `${model["continuing_subword_prefix"]}`;
  const merges = mergesOf(model, prefix, isToken);
  const letters = lettersOf(model, prefix, isToken);
  return (word) => {
    if (model["ignore_merges"] === true && isToken(word)) return [word];
    return merged(letters(word), merges);
  };
}

type Merges = ReadonlyMap<string, ReadonlyMap<string, Merge>>;

function mergesOf(
  model: Json,
  prefix: string,
  isToken: (token: string) => boolean,
): Merges {
  const merges = new Map<string, Map<string, Merge>>();
  const given = (model["merges"] ?? []) as readonly (string | string[])[];
  for (const [order, pair] of given.entries()) {
    const [left, right = ""] = typeof pair === "string"
      ? pair.split(" ")
      : pair;
    const token = left + right.slice(prefix.length);
    if (![left, right, token].every(isToken) || !right.startsWith(prefix)) {
      throw new TextFileError(
        `a merge of BPE makes one token of two, of which the second begins with ${
          describe(prefix)
        }, all in the vocabulary, got ${describe(pair)}`,
      );
    }
    const ofLeft = merges.get(left) ?? new Map<string, Merge>();
    merges.set(left, ofLeft.set(right, { order, token }));
  }
  return merges;
}

/** A word's characters as tokens; unknown ones are bytes, or what stands for them, or nothing. */
function lettersOf(
  model: Json,
  prefix: string,
  isToken: (token: string) => boolean,
): (word: string) => string[] {
  const {
    unk_token: unknown,
    end_of_word_suffix: suffix,
    byte_fallback: asBytes,
    fuse_unk: isFused,
  } = model;
  const encoder = new TextEncoder();
  return (word) => {
    const letters = Array.from(word);
    const tokens: string[] = [];
    let isBehindUnknown = false;
    letters.forEach((letter, i) => {
      const token = `${i > 0 ? prefix : ""}${letter}${
        i === letters.length - 1 ? suffix ?? "" : ""
      }`;
      const bytes = asBytes !== true ? [] : Array.from(
        encoder.encode(token),
        (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
      );
      const isKnown = isToken(token);
      if (isKnown) tokens.push(token);
      else if (bytes.length > 0 && bytes.every(isToken)) tokens.push(...bytes);
      else if (typeof unknown === "string") {
        if (!isFused || !isBehindUnknown) tokens.push(unknown);
        isBehindUnknown = true;
        return;
      }
      isBehindUnknown = false;
    });
    return tokens;
  };
}

function merged(tokens: string[], merges: Merges): string[] {
  const GONE = "";
  const next = tokens.map((_, i) => i + 1);
  const before = tokens.map((_, i) => i - 1);
  const mergeAt = (at: number) =>
    merges.get(tokens[at])?.get(tokens[next[at]] ?? GONE);
  // Ordered as events are: by their order, and then from left to right.
  const found = new EventHeap<
    { readonly atNs: number; readonly rank: number; readonly token: string }
  >();
  const look = (at: number) => {
    const merge = mergeAt(at);
    if (merge === undefined) return;
    found.push({ atNs: merge.order, rank: at, token: merge.token });
  };
  tokens.forEach((_, at) => look(at));
  for (let top = found.pop(); top !== undefined; top = found.pop()) {
    const { rank: at, token } = top;
    // What it was found for may have been merged otherwise.
    if (mergeAt(at)?.token !== token) continue;
    const right = next[at];
    tokens[at] = token;
    tokens[right] = GONE;
    next[at] = next[right];
    before[next[at]] = at;
    look(before[at]);
    look(at);
  }
  return tokens.filter((token) => token !== GONE);
}
