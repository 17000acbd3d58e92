/**
 * Parts of tokenizers' files, texts, and the tokens that Hugging Face's own tokenizers (0.22.2, in Rust) make of them: they
 * were run on these very files.
 */

/** A file without what follows from it, and what it makes of a text. */
export interface TokensCase {
  readonly what: string;
  readonly file: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly tokens: readonly string[];
  /** Their text, where it is asked for. */
  readonly decoded?: string;
}

const UNKNOWN = "?";

/** A model that has no other tokens than these, whole words all of them. */
function words(...tokens: string[]) {
  return {
    type: "WordLevel",
    unk_token: UNKNOWN,
    vocab: Object.fromEntries(
      [UNKNOWN, ...tokens].map((token, i) => [token, i]),
    ),
  };
}

function preTokenized(
  pre_tokenizer: Readonly<Record<string, unknown>>,
  text: string,
  ...tokens: string[]
): TokensCase {
  const what = JSON.stringify(pre_tokenizer);
  const file = { pre_tokenizer, model: words(...new Set(tokens)) };
  return { what, file, text, tokens };
}

function normalized(
  normalizer: Readonly<Record<string, unknown>>,
  text: string,
  ...tokens: string[]
): TokensCase {
  const what = JSON.stringify(normalizer).slice(0, 80);
  const pre_tokenizer = {
    ...{ type: "Split", pattern: { String: " " } },
    ...{ behavior: "Removed", invert: false },
  };
  const model = words(...new Set(tokens));
  return { what, file: { normalizer, pre_tokenizer, model }, text, tokens };
}

const split = (behavior: string, invert: boolean) => ({
  ...{ type: "Split", pattern: { Regex: "-" }, behavior, invert },
});

const metaspace = (scheme: string) => ({
  ...{ type: "Metaspace", replacement: "▁", prepend_scheme: scheme },
  split: true,
});

/** Rules of SentencePiece's: A to b, Ａ to a, ﬁ to fi, two spaces and a return to one, a byte order mark to nothing. */
export const CHARSMAP: string = [
  "AAQAAAAwAAANDQAAAQAAgAUAAICgGQAAgAwCAIARAACsOAIAgQUAAAcAAIC/BQAAAAAAgKEFAAAD",
  "AACADwAAAA4AAAC7lAIAEAAAABMAAAASAAAAFQAAABQAAAAXAAAAvOgCABkAAAAYAAAAGwAAABoA",
  "AAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAA",
  "ACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAA",
  "OQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABH",
  "AAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAAQTkBAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUA",
  "AABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAA",
  "AGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4AAABxAAAA",
  "cAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+",
  "AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwA",
  "AACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAA",
  "AJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAA",
  "qwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5",
  "AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcA",
  "AADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAwqgBAM4AAADRAAAA0AAAANMAAADSAAAA1QAA",
  "ANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA",
  "7yABAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA46gBAPEAAADw",
  "AAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4A",
  "AAAAIABhAGIAZmkA",
].join("");

const bert = (lowercase: boolean) => ({
  ...{ type: "BertNormalizer", clean_text: true, handle_chinese_chars: true },
  ...{ strip_accents: null, lowercase },
});

const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
);

const unigram = (byte_fallback: boolean) => ({
  ...{ type: "Unigram", unk_id: 0, byte_fallback },
  vocab: ["?", ...BYTES, "▁", "a", "b"].map((piece, i) => [piece, -i / 100]),
});

const bpe = (fuse_unk: boolean) => ({
  ...{ type: "BPE", dropout: null, unk_token: "?", fuse_unk },
  ...{ continuing_subword_prefix: null, end_of_word_suffix: null },
  ...{ byte_fallback: false, merges: ["a b"] },
  vocab: { "?": 0, a: 1, b: 2, ab: 3 },
});

/** Tokens that continue a word have a mark of their own. */
function prefixed(
  what: string,
  given: Readonly<Record<string, boolean>>,
  text: string,
  ...tokens: string[]
): TokensCase {
  const known = [
    ...["?", "a", "##a", "b", "##b", "ab", "##ab", "aab", "c</w>", "##c</w>"],
    ...["##abc</w>", ...(given["byte_fallback"] ? BYTES : [])],
  ];
  const model = {
    ...bpe(false),
    ...{ continuing_subword_prefix: "##", end_of_word_suffix: "</w>" },
    merges: ["##a ##b", "a ##b", "a ##ab", "##ab ##c</w>"],
    vocab: Object.fromEntries(known.map((token, i) => [token, i])),
    ...given,
  };
  const pre_tokenizer = { type: "WhitespaceSplit" };
  return { what, file: { model, pre_tokenizer }, text, tokens };
}

function added(
  given: Readonly<Record<string, boolean>>,
  text: string,
  ...tokens: string[]
): TokensCase {
  const token = {
    ...{ id: 1, content: "[M]", special: true, normalized: false },
    ...{ single_word: false, lstrip: false, rstrip: false },
    ...given,
  };
  const others = tokens.filter((each) => each !== "[M]");
  return {
    what: `an added token: ${JSON.stringify(given)}`,
    file: {
      added_tokens: [token],
      normalizer: { type: "Strip", strip_left: false, strip_right: false },
      pre_tokenizer: metaspace("first"),
      model: words("[M]", ...new Set(others)),
    },
    text,
    tokens,
  };
}

/** All of them. */
export const TOKENS_CASES: readonly TokensCase[] = [
  preTokenized({ type: "Whitespace" }, "Één ÉÉN x² σοφός.", ...[
    "Één",
    "ÉÉN",
    "x",
    "²",
    "σοφός",
    ".",
  ]),
  preTokenized(
    { type: "WhitespaceSplit" },
    "\uFEFFa\x85b c",
    "\uFEFFa",
    "b",
    "c",
  ),
  preTokenized({ type: "BertPreTokenizer" }, "\uFEFFa b!?", ...[
    "\uFEFFa",
    "b",
    "!",
    "?",
  ]),
  preTokenized({ type: "Digits", individual_digits: true }, "a١٢½", ...[
    "a",
    "١",
    "٢",
    "½",
  ]),
  preTokenized({ type: "Digits", individual_digits: false }, "a١٢½", ...[
    "a",
    "١٢½",
  ]),
  preTokenized({ type: "Punctuation" }, "a--b!?", ...[
    ...["a", "-", "-", "b", "!", "?"],
  ]),
  preTokenized({ type: "Punctuation", behavior: "Contiguous" }, "a--b!?", ...[
    ...["a", "--", "b", "!?"],
  ]),
  preTokenized(split("Removed", false), "a--b-c", "a", "b", "c"),
  preTokenized(split("Removed", true), "a--b-c", "-", "-", "-"),
  preTokenized(split("Isolated", false), "a--b", "a", "-", "-", "b"),
  preTokenized(split("Isolated", true), "a--b", "a", "-", "-", "b"),
  preTokenized(split("Contiguous", false), "a--b", "a", "--", "b"),
  preTokenized(split("Contiguous", true), "a--b", "a", "--", "b"),
  preTokenized(split("MergedWithPrevious", false), "a--b-", "a-", "-", "b-"),
  preTokenized(split("MergedWithPrevious", true), "a--b-", "a", "-", "-b", "-"),
  preTokenized(split("MergedWithNext", false), "a--b-", "a", "-", "-b", "-"),
  preTokenized(split("MergedWithNext", true), "a--b-", "a-", "-", "b-"),
  preTokenized(metaspace("always"), "a  b", "▁a", "▁", "▁b"),
  preTokenized(
    { ...metaspace("never"), add_prefix_space: false },
    "a b",
    ...["a", "▁b"],
  ),
  preTokenized(
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: true },
    " \uFEFFa",
    ...["Ġï»¿", "a"],
  ),
  normalized({ type: "Lowercase" }, "ΟΔΟΣ Σς", "οδοσ", "σς"),
  normalized(bert(true), "ΟΔΟΣ É", "οδοσ", "e"),
  normalized(bert(false), "a𠀀𠀁Σ", "a", "𠀀", "𠀁", "Σ"),
  normalized(
    { type: "Strip", strip_left: true, strip_right: true },
    ...[
      ...[" \uFEFFa\x85", "\uFEFFa"],
    ] as const,
  ),
  normalized(
    { type: "Replace", pattern: { String: "a" }, content: "$&$1" },
    ...["a b", "$&$1", "b"] as const,
  ),
  normalized(
    { type: "Precompiled", precompiled_charsmap: CHARSMAP },
    ...[
      "A\u3000\r\nＡﬁ\u00A0\uFEFFB ﬁ\u0301x é",
      ...["b", "afi", "B", "fix", "é"],
    ] as const,
  ),
  normalized(
    { type: "Precompiled", precompiled_charsmap: CHARSMAP },
    ...[
      // All of the cluster becomes what its first character does.
      ...["A\u0301x\r\nAx\r", "bx", "bx"],
    ] as const,
  ),
  {
    what: "unknown characters are bytes, where a file says so",
    file: { model: unigram(true) },
    text: "aé?b",
    tokens: ["a", "<0xC3>", "<0xA9>", "<0x3F>", "b"],
  },
  {
    what: "unknown characters of Unigram are one token in a word",
    file: { model: unigram(false), pre_tokenizer: { type: "WhitespaceSplit" } },
    text: "éèaé éè",
    tokens: ["?", "a", "?", "?"],
  },
  {
    what: "unknown characters of BPE are one token in a word",
    file: { model: bpe(true), pre_tokenizer: { type: "WhitespaceSplit" } },
    text: "éèab éè é",
    tokens: ["?", "ab", "?", "?"],
  },
  {
    what: "unknown characters of BPE are one token each",
    file: { model: bpe(false), pre_tokenizer: { type: "WhitespaceSplit" } },
    text: "éèab é",
    tokens: ["?", "?", "ab", "?"],
  },
  prefixed("pairs with a mark in front", {}, "aabc c éèab abéèc", ...[
    ...["aab", "##c</w>", "c</w>", "?", "?", "##a", "?"],
    ...["ab", "?", "?", "##c</w>"],
  ]),
  prefixed("unknown ones of them", { fuse_unk: true }, "éèab abéèc", ...[
    ...["?", "##a", "?", "ab", "?", "##c</w>"],
  ]),
  prefixed("whole words of them", { ignore_merges: true }, "aab abac", ...[
    ...["aab", "ab", "##a", "##c</w>"],
  ]),
  prefixed(
    "bytes of them",
    { fuse_unk: true, byte_fallback: true },
    "éèc",
    ...["<0xC3>", "<0xA9>", "<0x23>", "<0x23>", "<0xC3>", "<0xA8>", "##c</w>"],
  ),
  added({ single_word: true }, "x[M] [M].é[M]", ...[
    ...["▁x[M]", "▁", "[M]", ".é[M]"],
  ]),
  added({ lstrip: true }, "x  [M] y", "▁x", "[M]", "▁y"),
  added({ rstrip: true }, "x [M]  y", "▁x", "▁", "[M]", "y"),
  added({ normalized: true }, "[M]x[M]y", "[M]", "x", "[M]", "y"),
  {
    what: "a text that begins with a space keeps it, where none was put there",
    file: {
      decoder: metaspace("never"),
      model: words("▁a", "▁"),
      pre_tokenizer: metaspace("never"),
    },
    text: " a ",
    tokens: ["▁a", "▁"],
    decoded: " a ",
  },
  {
    what: "spaces in front of the first word were put there",
    file: {
      decoder: metaspace("always"),
      model: words("▁a"),
      pre_tokenizer: metaspace("always"),
    },
    text: " a",
    tokens: ["▁a"],
    decoded: "a",
  },
  {
    what: "a byte order mark is a character",
    file: { decoder: { type: "ByteFallback" }, model: unigram(true) },
    text: "\uFEFFa",
    tokens: ["<0xEF>", "<0xBB>", "<0xBF>", "a"],
    decoded: "\uFEFFa",
  },
];
