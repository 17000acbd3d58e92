/** The model of the comparison: a BERT of the size of small sentence encoders, as an ONNX file, with a tokenizer. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Prng } from "../../src/base/prng.ts";
import { WORDS } from "../../src/load/texts.ts";
import { plainTensor } from "../../src/tensor/plain_tensor.ts";
import { BERT_INPUTS, bertFile } from "../../test/onnx/sequence_models.ts";
import { ROOT } from "../kernels/root.ts";

/** Sizes of the model. */
export interface BertSizes {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
}

/** As all-MiniLM-L6, but for a feed-forward layer of twice the width instead of four times. */
export const MINI: BertSizes = { layers: 6, hidden: 384, heads: 12 };
/** For `--quick`. */
export const TINY: BertSizes = { layers: 2, hidden: 128, heads: 4 };

const VOCABULARY = 30_522;
const POSITIONS = 512;
const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/** A model's name in the protocols. */
export const MODEL = "bert";

/**
 * Writes a folder of models, of which there is one, if it is not there.
 * @param tokenizer folder with the tokenizer's files; default: word pieces for the words that `shoal load` uses
 * @returns its path
 */
export function modelFolder(
  sizes: BertSizes,
  seed: number,
  tokenizer?: string,
): string {
  const { layers, hidden, heads } = sizes;
  const models = new URL(
    `build/bench/server/models-${layers}x${hidden}-${seed}/`,
    ROOT,
  );
  const folder = new URL(`${MODEL}/`, models);
  mkdirSync(folder, { recursive: true });
  const file = new URL("model.onnx", folder);
  if (!existsSync(file)) writeFileSync(file, bertBytes(sizes, seed));
  const config = {
    ...{ architectures: ["BertModel"], model_type: "bert" },
    ...{ hidden_size: hidden, num_hidden_layers: layers },
    ...{ num_attention_heads: heads, vocab_size: VOCABULARY },
    ...{ max_position_embeddings: POSITIONS, pad_token_id: 0 },
  };
  const write = (name: string, value: unknown) =>
    writeFileSync(new URL(name, folder), JSON.stringify(value));
  write("config.json", config);
  for (const name of ["tokenizer.json", "tokenizer_config.json"]) {
    if (tokenizer === undefined) {
      write(name, name === "tokenizer.json" ? wordPieces() : TOKENIZER_CONFIG);
    } else {
      writeFileSync(
        new URL(name, folder),
        readFileSync(`${tokenizer}/${name}`),
      );
    }
  }
  return models.pathname;
}

const TOKENIZER_CONFIG = {
  ...{ tokenizer_class: "BertTokenizer", model_max_length: POSITIONS },
  ...{ pad_token: "[PAD]", unk_token: "[UNK]", cls_token: "[CLS]" },
  ...{ sep_token: "[SEP]", mask_token: "[MASK]" },
};

/** Weights uniform, those of products scaled by their inputs, so that values stay of the size of one. */
function bertBytes(
  { layers, hidden, heads }: BertSizes,
  seed: number,
): Uint8Array<ArrayBuffer> {
  const file = bertFile(new Prng(seed), {
    ...{ layers, hidden, heads, vocabulary: VOCABULARY, positions: POSITIONS },
    ...{ mask: "expanded", norm: "parts", head: "masked mean" },
  });
  for (const [name, { type, dims, data }] of Object.entries(file.constants)) {
    const isProduct = type === "float32" && dims.length === 2 &&
      dims[0] >= hidden && dims[0] <= 4 * hidden && dims[0] !== POSITIONS;
    if (!isProduct) continue;
    const scale = 2 / Math.sqrt(dims[0]);
    file.constants[name] = plainTensor(
      "float32",
      dims,
      (data as Float32Array).map((value) => value * scale),
    );
  }
  return file.bytes(BERT_INPUTS, ["head"], 17);
}

/** A tokenizer as BERT's, whose words are those of the texts that are sent, each one piece. */
function wordPieces() {
  const words = [...new Set([...SPECIAL, ".", ...WORDS])];
  const unused = Array.from(
    { length: VOCABULARY - words.length },
    (_, i) => `[unused${i}]`,
  );
  const vocab = Object.fromEntries(
    [...words, ...unused].map((word, id) => [word, id]),
  );
  const special = (content: string) => ({
    ...{ id: vocab[content], content, special: true, normalized: false },
    ...{ single_word: false, lstrip: false, rstrip: false },
  });
  const piece = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const sequence = (id: string, type_id: number) => ({
    Sequence: { id, type_id },
  });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map(special),
    normalizer: {
      ...{ type: "BertNormalizer", clean_text: true, lowercase: true },
      ...{ handle_chinese_chars: true, strip_accents: null },
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [piece("[CLS]"), sequence("A", 0), piece("[SEP]")],
      pair: [
        ...[piece("[CLS]"), sequence("A", 0), piece("[SEP]")],
        ...[sequence("B", 1), { SpecialToken: { id: "[SEP]", type_id: 1 } }],
      ],
      special_tokens: Object.fromEntries(
        ["[CLS]", "[SEP]"].map((id) => [
          id,
          { id, ids: [vocab[id]], tokens: [id] },
        ]),
      ),
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", vocab },
      ...{ continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
    },
  };
}
