/** Tokenizers of a few words, written for tests: of each kind that models have. */
import {
  TextTokenizer,
  type TokenizerFiles,
} from "../../src/text/tokenizer.ts";

/** Special tokens come first, with the ids that they have in their order. */
function added(tokens: readonly string[]) {
  return tokens.map((content, id) => ({
    id,
    content,
    special: true,
    normalized: false,
    single_word: false,
    lstrip: false,
    rstrip: false,
  }));
}

function numbered(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, id) => [token, id]));
}

const BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

const BERT_WORDS = [
  ...["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "fast", "##er"],
  ...["##s", "##ing", "run", "sit", "and", ".", ",", "?", "!", "'", "do", "t"],
];

/** As BERT's, and as files are that say to cut and to fill up. */
export const WORD_PIECES: TokenizerFiles = {
  tokenizer: {
    truncation: { direction: "Right", max_length: 4, strategy: "LongestFirst" },
    padding: { strategy: { Fixed: 4 }, pad_id: 0, pad_token: "[PAD]" },
    added_tokens: added(BERT_SPECIALS),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [
        { SpecialToken: { id: "[CLS]", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
        { SpecialToken: { id: "[SEP]", type_id: 0 } },
      ],
      pair: [
        { SpecialToken: { id: "[CLS]", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
        { SpecialToken: { id: "[SEP]", type_id: 0 } },
        { Sequence: { id: "B", type_id: 1 } },
        { SpecialToken: { id: "[SEP]", type_id: 1 } },
      ],
      special_tokens: {},
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: numbered([...BERT_SPECIALS, ...BERT_WORDS]),
    },
  },
  config: {
    pad_token: "[PAD]",
    unk_token: "[UNK]",
    model_max_length: 1e30,
    clean_up_tokenization_spaces: true,
  },
};

/** Ids of the words, which follow the special tokens. */
export const BERT_VOCABULARY = BERT_SPECIALS.length + BERT_WORDS.length;

/** The character that stands for each byte. Source: GPT-2, `bytes_to_unicode`. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) =>
    byte >= 33 && byte <= 126 || byte >= 161 && byte !== 173;
  let others = 256;
  return Array.from(
    { length: 256 },
    (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : others++),
  );
}

/** Every byte is a token, and a few merges; as GPT-2's. */
export const BYTE_PAIRS: TokenizerFiles = (() => {
  const merges = [["t", "h"], ["th", "e"], ["Ġ", "the"], ["i", "n"], [
    "Ġ",
    "a",
  ]];
  const specials = ["<|end|>", "<|user|>"];
  const vocabulary = [
    ...specials,
    ...byteCharacters(),
    ...merges.map((pair) => pair.join("")),
  ];
  return {
    tokenizer: {
      added_tokens: added(specials),
      normalizer: null,
      pre_tokenizer: {
        type: "ByteLevel",
        add_prefix_space: false,
        trim_offsets: true,
        use_regex: true,
      },
      post_processor: { type: "ByteLevel", trim_offsets: false },
      decoder: { type: "ByteLevel" },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: "",
        end_of_word_suffix: "",
        fuse_unk: false,
        vocab: numbered(vocabulary),
        merges: merges.map((pair) => pair.join(" ")),
      },
    },
    config: {
      eos_token: "<|end|>",
      bos_token: { content: "<|end|>" },
      model_max_length: 1024,
    },
  };
})();

/** Ids of BYTE_PAIRS. */
export const BYTE_VOCABULARY = 2 + 256 + 5;

/** Pieces with a mark for spaces, bytes for what there is no piece of; as Llama's. */
export const MARKED_PIECES: TokenizerFiles = (() => {
  const specials = ["<unk>", "<s>", "</s>"];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const merges = [
    ["h", "e"],
    ["l", "l"],
    ["he", "ll"],
    ["▁", "he"],
    ["▁", "w"],
    ["o", "r"],
  ];
  const vocabulary = [
    ...specials,
    ...bytes,
    "▁",
    ..."helowrd,.!",
    ...merges.map((pair) => pair.join("")),
  ];
  return {
    tokenizer: {
      added_tokens: added(specials),
      normalizer: {
        type: "Sequence",
        normalizers: [
          { type: "Prepend", prepend: "▁" },
          { type: "Replace", pattern: { String: " " }, content: "▁" },
        ],
      },
      pre_tokenizer: null,
      post_processor: {
        type: "TemplateProcessing",
        single: [
          { SpecialToken: { id: "<s>", type_id: 0 } },
          { Sequence: { id: "A", type_id: 0 } },
        ],
        pair: [
          { SpecialToken: { id: "<s>", type_id: 0 } },
          { Sequence: { id: "A", type_id: 0 } },
          { SpecialToken: { id: "<s>", type_id: 1 } },
          { Sequence: { id: "B", type_id: 1 } },
        ],
        special_tokens: {},
      },
      decoder: {
        type: "Sequence",
        decoders: [
          { type: "Replace", pattern: { String: "▁" }, content: " " },
          { type: "ByteFallback" },
          { type: "Fuse" },
          { type: "Strip", content: " ", start: 1, stop: 0 },
        ],
      },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: "<unk>",
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: true,
        byte_fallback: true,
        vocab: numbered(vocabulary),
        merges: merges.map((pair) => pair.join(" ")),
      },
    },
    config: { bos_token: "<s>", eos_token: "</s>", unk_token: "<unk>" },
  };
})();

/** Ids of MARKED_PIECES. */
export const MARKED_VOCABULARY = 3 + 256 + 1 + 10 + 6;

/** All of them, by name, with the number of their ids. */
export const TOKENIZERS: Readonly<
  Record<string, { tokenizer: TextTokenizer; vocabulary: number }>
> = {
  "word pieces": {
    tokenizer: await TextTokenizer.load(WORD_PIECES),
    vocabulary: BERT_VOCABULARY,
  },
  "byte pairs": {
    tokenizer: await TextTokenizer.load(BYTE_PAIRS),
    vocabulary: BYTE_VOCABULARY,
  },
  "marked pieces": {
    tokenizer: await TextTokenizer.load(MARKED_PIECES),
    vocabulary: MARKED_VOCABULARY,
  },
};
