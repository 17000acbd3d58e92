/** Small models of texts, as files that exporters write, for the tokenizers of ./tokenizers.ts. */
import { Prng } from "../../src/base/prng.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import type { GivenSizes } from "../../src/onnx/sizes.ts";
import { tinyDecoder } from "../onnx/decoder_files.ts";
import {
  BERT_INPUTS,
  type BertFile,
  bertFile,
} from "../onnx/sequence_models.ts";
import { BERT_VOCABULARY, BYTE_VOCABULARY } from "./tokenizers.ts";

/** Most tokens of a text. */
export const TOKENS_MAX = 32;

/** A BERT of two layers. */
export function encoderFile(made: Partial<BertFile> = {}) {
  return bertFile(new Prng(5), {
    ...{ layers: 2, hidden: 16, heads: 2, vocabulary: BERT_VOCABULARY },
    ...{ positions: TOKENS_MAX, mask: "added", norm: "operator" },
    head: "pooled",
    ...made,
  }).bytes(BERT_INPUTS, ["last_hidden_state", "head"], 17);
}

export function encoder(
  made: Partial<BertFile> = {},
  sizes: GivenSizes = { sizesMax: { sequence: TOKENS_MAX } },
) {
  return loadOnnx(encoderFile(made), sizes);
}

/** Positions of a decoder's requests. */
export const POSITIONS_MAX = 40;

/** A decoder of bytes that draws tokens. */
export function decoder(
  stop: readonly number[],
  sample = true,
  scores = false,
) {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: BYTE_VOCABULARY, seed: 3 },
  });
  return loadOnnx(file, {
    decoder: { stop, positionsMax: POSITIONS_MAX, sample, scores },
  });
}
