/**
 * What `@huggingface/tokenizers` (0.2.0) makes of some files is not what Hugging Face's own tokenizers make of them, with
 * which models are trained: these parts of its tokenizers are replaced, so that ids are theirs.
 * Source: Hugging Face tokenizers, `normalizers`, `pre_tokenizers`, `models/unigram`, `models/bpe`.
 */
import { describe } from "../base/describe.ts";
import { type AddedToken, sectionsOf, WORD } from "./added_tokens.ts";
import { Charsmap } from "./charsmap.ts";
import { TextFileError } from "./errors.ts";
import { prefixedPairs } from "./prefixed_pairs.ts";
import {
  SPLIT_BEHAVIORS,
  type SplitBehavior,
  splitText,
} from "./split_text.ts";

type Json = Readonly<Record<string, unknown>>;

/** A normalizer of the package, which is a function as well. */
interface Normalizer {
  (text: string): string;
  readonly normalizers?: readonly (Normalizer | null)[];
  readonly pattern?: RegExp | null;
  normalize(text: string): string;
}

/** What cuts texts into words. */
interface PreTokenizer {
  (text: string, options: { readonly section_index: number }): string[];
  readonly tokenizers?: readonly (PreTokenizer | null)[];
  pattern?: RegExp | null;
  pre_tokenize_text(text: string, options: unknown): string[];
}

/** What cuts words into tokens. */
interface Model {
  (words: readonly string[]): string[];
  readonly fuse_unk: boolean;
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token_id: number | undefined;
  encode(words: readonly string[]): string[];
  /** Of a word; of Unigram alone. */
  tokenize?(word: string): string[];
  _call(words: readonly string[]): string[];
}

/** What makes text of tokens. */
interface Decoder {
  readonly decoders?: readonly (Decoder | null)[];
  text_decoder?: TextDecoder;
  decode_chain(tokens: readonly string[]): string[];
}

/** Cuts texts at tokens that were added. */
interface Splitter {
  split(text: string): string[];
}

/** The parts of a tokenizer of the package that are replaced here. */
export interface TokenizerParts {
  readonly normalizer: Normalizer | null;
  readonly pre_tokenizer: PreTokenizer | null;
  readonly model: Model;
  readonly decoder: Decoder | null;
  readonly added_tokens_map: ReadonlyMap<string, AddedToken>;
  /** Of tokens that are looked for before a text is normalised, and behind it. */
  readonly splitter_unnormalized: Splitter;
  readonly splitter_normalized: Splitter;
  /** Said by configurations of tokenizers that have no file of their own. */
  readonly do_lowercase_and_remove_accent: boolean;
  /** Of the second text, which there is none of, null. */
  encode_text(text: string | null): string[] | null;
}

/** The file with what the package overlooks said as it understands it. */
export function understood(file: Json): Json {
  const parts = ["pre_tokenizer", "decoder"].filter((name) => file[name]);
  return {
    ...file,
    ...Object.fromEntries(parts.map((name) => [name, spaced(file[name])])),
  };
}

/** Metaspace of older files says whether a space is put in front in another way. */
function spaced(part: unknown): unknown {
  const given = (part ?? {}) as Json;
  for (const name of ["pretokenizers", "decoders"]) {
    const parts = given[name];
    if (Array.isArray(parts)) return { ...given, [name]: parts.map(spaced) };
  }
  return given["type"] === "Metaspace" && given["add_prefix_space"] === false
    ? { ...given, prepend_scheme: "never" }
    : part;
}

/**
 * Replaces them.
 * @param file what the tokenizer was made of
 * @throws TextFileError on what is not known
 */
export function replaceParts(parts: TokenizerParts, file: Json): void {
  replaceNormalizer(parts.normalizer, file["normalizer"]);
  replacePreTokenizer(parts.pre_tokenizer, file["pre_tokenizer"]);
  replaceModel(parts.model, (file["model"] ?? {}) as Json);
  replaceDecoder(parts.decoder, file["decoder"]);
  parts.encode_text = (text) => text === null ? null : tokensOf(parts, text);
}

/** The package knows of no `single_word`, and takes every text behind an added token for the first one. */
function tokensOf(parts: TokenizerParts, text: string): string[] {
  const { added_tokens_map: added, pre_tokenizer: words, model } = parts;
  const sections = (text: string, splitter: Splitter) =>
    sectionsOf(text, splitter.split(text), (piece) => added.get(piece));
  return sections(text, parts.splitter_unnormalized).flatMap((section) => {
    if (section.isToken) return section.text;
    const plain = parts.do_lowercase_and_remove_accent
      ? section.text.toLowerCase().replace(/\p{M}/gu, "")
      : section.text;
    const normalized = parts.normalizer?.(plain) ?? plain;
    return sections(normalized, parts.splitter_normalized).flatMap((each) => {
      if (each.isToken) return each.text;
      const isFirst = section.start === 0 && each.start === 0;
      return model(
        words?.(each.text, { section_index: isFirst ? 0 : 1 }) ?? [each.text],
      );
    });
  });
}

/** Ideographs beyond those of two bytes in UTF-16, which the package does not see. */
const FAR_IDEOGRAPHS =
  /[\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;

function replaceNormalizer(part: Normalizer | null, written: unknown): void {
  if (part === null) return;
  const { type, normalizers, ...rest } = written as Json;
  const before = part.normalize.bind(part);
  switch (type) {
    case "Sequence":
      part.normalizers?.forEach((each, i) =>
        replaceNormalizer(each, (normalizers as readonly unknown[])[i])
      );
      break;
    case "BertNormalizer":
      part.normalize = (text) => {
        const apart = rest["handle_chinese_chars"]
          ? text.replace(FAR_IDEOGRAPHS, " $& ")
          : text;
        return before(rest["lowercase"] ? withoutContext(apart) : apart);
      };
      break;
    case "Lowercase":
      part.normalize = (text) => before(withoutContext(text));
      break;
    case "Precompiled": {
      const { precompiled_charsmap: rules } = rest;
      if (typeof rules !== "string" || rules === "") break;
      const charsmap = new Charsmap(rules);
      part.normalize = (text) => charsmap.normalize(text);
      break;
    }
    case "Strip":
      part.normalize = (text) =>
        text.replace(rest["strip_left"] ? SPACES_IN_FRONT : /^/, "")
          .replace(rest["strip_right"] ? SPACES_BEHIND : /$/, "");
      break;
    case "Replace": {
      const { pattern } = part;
      const content = rest["content"] ?? "";
      // Dollars of it are no more than that.
      if (!pattern || !`${content}`.includes("$")) break;
      part.normalize = (text) => text.replaceAll(pattern, () => `${content}`);
      break;
    }
  }
}

/** Letters that have one lower case, whatever stands behind them: JavaScript has another sigma at the end of a word. */
function withoutContext(text: string): string {
  return text.replaceAll("Σ", "σ");
}

/** What Rust means by `\s`. */
const SPACE = String.raw`\p{White_Space}`;

const SPACES_IN_FRONT = new RegExp(`^${SPACE}+`, "u");
const SPACES_BEHIND = new RegExp(`${SPACE}+$`, "u");
/** GPT-2's, which JavaScript reads otherwise only where spaces are meant. */
const BYTE_LEVEL = new RegExp(
  String
    .raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^${SPACE}\p{L}\p{N}]+|${SPACE}+(?!\P{White_Space})|${SPACE}+`,
  "gu",
);
const WORDS_OR_SIGNS = new RegExp(`[${WORD}]+|[^${WORD}${SPACE}]+`, "gu");
const SPACES = new RegExp(SPACE, "gu");
const NUMBERS = /\p{N}/gu;
const PUNCTUATION = /[\p{P}!-/:-@[-`{-~]/gu;

function replacePreTokenizer(
  part: PreTokenizer | null,
  written: unknown,
): void {
  if (part === null) return;
  const { type, pretokenizers, ...rest } = written as Json;
  const cut = (pattern: RegExp, behavior: SplitBehavior, invert = false) => {
    part.pre_tokenize_text = (text) =>
      splitText(text, pattern, behavior, invert);
  };
  switch (type) {
    case "Sequence":
      part.tokenizers?.forEach((each, i) =>
        replacePreTokenizer(each, (pretokenizers as readonly unknown[])[i])
      );
      break;
    case "Whitespace":
      cut(WORDS_OR_SIGNS, "Removed", true);
      break;
    case "WhitespaceSplit":
      cut(SPACES, "Removed");
      break;
    case "BertPreTokenizer":
      part.pre_tokenize_text = (text) =>
        splitText(text, SPACES, "Removed").flatMap((word) =>
          splitText(word, PUNCTUATION, "Isolated")
        );
      break;
    case "ByteLevel":
      part.pattern = BYTE_LEVEL;
      break;
    case "Digits":
      cut(NUMBERS, rest["individual_digits"] ? "Isolated" : "Contiguous");
      break;
    case "Punctuation":
      cut(PUNCTUATION, behaviorOf(rest["behavior"] ?? "Isolated"));
      break;
    case "Split":
      if (!part.pattern) break;
      cut(part.pattern, behaviorOf(rest["behavior"]), rest["invert"] === true);
      break;
    case "Metaspace": {
      if (rest["split"] === false) break;
      const mark = markOf(rest);
      const before = part.pre_tokenize_text.bind(part);
      part.pre_tokenize_text = (text, options) =>
        before(text, options).flatMap((each) =>
          splitText(each, mark, "MergedWithNext")
        );
      break;
    }
  }
}

/** What stands for a space. */
function markOf({ replacement = "▁" }: Json): RegExp {
  const code = `${replacement}`.codePointAt(0) ?? 0;
  return new RegExp(`\\u{${code.toString(16)}}`, "gu");
}

function behaviorOf(name: unknown): SplitBehavior {
  const found = SPLIT_BEHAVIORS.find((behavior) => behavior === name);
  if (found !== undefined) return found;
  throw new TextFileError(
    `"behavior" of a split is one of ${SPLIT_BEHAVIORS.join(", ")}, got ${
      describe(name)
    }`,
  );
}

/** Unknown tokens side by side are one where a file says so, but those of two words are two. */
function replaceModel(model: Model, written: Json): void {
  // Only byte pairs have merges.
  if (written["merges"] && written["continuing_subword_prefix"]) {
    const cut = prefixedPairs(written);
    model._call = (words) => words.flatMap((word) => cut(word));
    return;
  }
  if (!model.fuse_unk) return;
  const tokens = model.tokenize
    ? (word: string) => model.tokenize!(word)
    : (word: string) => model.encode([word]);
  const bytesOf = model.tokenize && written["byte_fallback"]
    ? (text: string) => byteTokens(text, model.tokens_to_ids)
    : undefined;
  model._call = (words) =>
    words.flatMap((word) =>
      fused(tokens(word), model).flatMap(({ text, isUnknown }) =>
        isUnknown && !model.tokens_to_ids.has(text)
          ? bytesOf?.(text) ?? text
          : text
      )
    );
}

function replaceDecoder(part: Decoder | null, written: unknown): void {
  if (part === null) return;
  const { type, decoders, ...rest } = written as Json;
  switch (type) {
    case "Sequence":
      part.decoders?.forEach((each, i) =>
        replaceDecoder(each, (decoders as readonly unknown[])[i])
      );
      break;
    case "Metaspace": {
      const mark = markOf(rest);
      const isPrefixed = rest["prepend_scheme"] !== "never";
      part.decode_chain = (tokens) =>
        tokens.map((token, i) =>
          token.replace(mark, i === 0 && isPrefixed ? "" : " ")
        );
      break;
    }
    case "ByteFallback":
      part.text_decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      break;
  }
}

interface Fused {
  readonly text: string;
  readonly isUnknown: boolean;
}

function fused(
  tokens: readonly string[],
  { tokens_to_ids: ids, unk_token_id: unknown }: Model,
): Fused[] {
  const all: { text: string; isUnknown: boolean }[] = [];
  for (const text of tokens) {
    const isUnknown = (ids.get(text) ?? unknown) === unknown;
    const last = all.at(-1);
    if (isUnknown && last?.isUnknown) last.text += text;
    else all.push({ text, isUnknown });
  }
  return all;
}

/** Tokens of a text's bytes, if there is one for each. */
function byteTokens(
  text: string,
  ids: ReadonlyMap<string, number>,
): string[] | undefined {
  const tokens = Array.from(
    new TextEncoder().encode(text),
    (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  return tokens.every((token) => ids.has(token)) ? tokens : undefined;
}
