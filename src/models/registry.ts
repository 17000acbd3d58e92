import type { InputKind, Model } from "../graph/model.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { bert, BERT_OPTIONS } from "./bert.ts";
import { DEEP_SPEECH_2_OPTIONS, deepSpeech2 } from "./deepspeech2.ts";
import { gnmt, GNMT_OPTIONS } from "./gnmt.ts";
import { INCEPTION_V4_OPTIONS, inceptionV4 } from "./inception_v4.ts";
import { gpt, GPT_OPTIONS } from "./gpt.ts";
import { las, LAS_OPTIONS } from "./las.ts";
import { linknet, LINKNET_OPTIONS } from "./linknet.ts";
import { lstm, LSTM_OPTIONS } from "./lstm.ts";
import { mobilenet, MOBILENET_OPTIONS } from "./mobilenet.ts";
import { resnet101, resnet152, resnet50, RESNET_OPTIONS } from "./resnet.ts";
import { seq2seq, SEQ2SEQ_OPTIONS } from "./seq2seq.ts";
import { transformer, TRANSFORMER_OPTIONS } from "./transformer.ts";
import { TREE_LSTM_OPTIONS, treeLstm } from "./tree_lstm.ts";
import { unet, UNET_OPTIONS } from "./unet.ts";
import { vgg16, vgg19, VGG_OPTIONS } from "./vgg.ts";

/** How large models are made where they are measured; `full` has the papers' sizes. */
export type SizeClass = "small" | "medium" | "large" | "full";

/** All of them, from small to large. */
export const SIZE_CLASSES: readonly SizeClass[] = [
  ...["small", "medium", "large", "full"] as const,
];

/** What is known of a registered model: how it is built, measured and tested. */
export interface ModelEntry {
  /** Options a configuration may name. */
  readonly options: readonly string[];
  /** What a request brings. */
  readonly input: InputKind;
  /**
   * Makes the model.
   * @throws TypeError or RangeError on an option that the model does not have or cannot take
   */
  build(options: Record<string, unknown> & { weights?: WeightSource }): Model;
  /**
   * Options by size class, the vocabulary among them where requests bring tokens: from one class to the
   * next about four times the work.
   */
  readonly sizes: Readonly<
    Record<SizeClass, Readonly<Record<string, unknown>>>
  >;
  /** The corpus or task of which measured requests have their lengths; default: the workload's. */
  readonly lengths?: string;
  /**
   * Small models to test: values of options that go together in any combination, one record for each kind.
   * Token ids that tests ask for are below 11; sentences have up to 9 tokens, outputs 12, utterances 7 to 15 frames.
   */
  readonly tries: readonly Readonly<Record<string, readonly unknown[]>>[];
}

/** 1 to `most`. */
const upTo = (most: number) => Array.from({ length: most }, (_, i) => 1 + i);

const HIDDEN = upTo(21);
const EMBEDDING = upTo(13);
const VOCABULARY = [11];
const EOS = [null, 2, 5];

const RESNET_SIZES = {
  small: { size: 32, width: 8, classes: 100 },
  medium: { size: 32, width: 16, classes: 100 },
  large: { size: 32, width: 32, classes: 100 },
  full: { size: 224, width: 64, classes: 1000 },
};
const RESNET_TRIES: ModelEntry["tries"] = [{
  size: upTo(18),
  channels: [1, 2, 3],
  width: [1, 2, 3],
  blocks: [[1], [2], [1, 1], [1, 2], [2, 1], [2, 2]],
  classes: upTo(9),
  variant: ["v1", "v1.5"],
}];

const VGG_SIZES = {
  small: { size: 32, width: 8, hidden: 128, classes: 100 },
  medium: { size: 32, width: 16, hidden: 256, classes: 100 },
  large: { size: 32, width: 32, hidden: 512, classes: 100 },
  full: { size: 224, width: 64, hidden: 4096, classes: 1000 },
};
const VGG_TRIES: ModelEntry["tries"] = [{
  size: [4, 5, 6, 9],
  channels: [1, 2, 3],
  width: [1, 2],
  blocks: [[1], [1, 2], [2, 1]],
  hidden: [1, 3, 5],
  classes: [1, 4],
}];

/**
 * Every model by name: one entry adds one to the bench, the command line and the property tests.
 *
 * Vocabularies of classes below `full` keep the share of the projection as in the paper: decoding is
 * 75 % of the compute (Cellular Batching, section 7.4), that is hidden * vocabulary = 16 * hidden^2
 * multiply-adds beside the decoder's step. There, decoding ends where the workload says (`eos: null`):
 * trained weights would stop by themselves. Image networks keep all their layers.
 *
 * @example Every model, in the size that fits the smallest machines
 * ```ts
 * import { MODELS, seededWeights } from "@shoal/core/simulate";
 *
 * for (const [name, { build, sizes }] of Object.entries(MODELS)) {
 *   const model = build({ ...sizes.small, weights: seededWeights(1) });
 *   console.log(name, model.cells.length, "cells");
 * }
 * ```
 */
export const MODELS: Readonly<Record<string, ModelEntry>> = {
  lstm: {
    options: LSTM_OPTIONS,
    input: "tokens",
    build: lstm,
    sizes: {
      small: { hidden: 128, vocabulary: 2000 },
      medium: { hidden: 256, vocabulary: 2000 },
      large: { hidden: 512, vocabulary: 2000 },
      full: { hidden: 1024, vocabulary: 30_000 },
    },
    tries: [{
      hidden: HIDDEN,
      embedding: EMBEDDING,
      vocabulary: VOCABULARY,
      head: ["none", "classifier", "language-model"],
      classes: upTo(9),
    }],
  },
  seq2seq: {
    options: SEQ2SEQ_OPTIONS,
    input: "seq2seq",
    build: seq2seq,
    sizes: {
      small: { hidden: 64, sourceVocabulary: 1024, eos: null },
      medium: { hidden: 128, sourceVocabulary: 2048, eos: null },
      large: { hidden: 256, sourceVocabulary: 4096, eos: null },
      full: { hidden: 1024, sourceVocabulary: 30_000, eos: null },
    },
    tries: [{
      hidden: HIDDEN,
      embedding: EMBEDDING,
      sourceVocabulary: VOCABULARY,
      rnn: ["lstm", "gru"],
      eos: EOS,
      extraSteps: upTo(6),
    }],
  },
  gnmt: {
    options: GNMT_OPTIONS,
    input: "seq2seq",
    build: gnmt,
    sizes: {
      small: { layers: 3, hidden: 32, sourceVocabulary: 512, eos: null },
      medium: { layers: 3, hidden: 64, sourceVocabulary: 1024, eos: null },
      large: { layers: 3, hidden: 128, sourceVocabulary: 2048, eos: null },
      full: { layers: 8, hidden: 1024, sourceVocabulary: 32_000, eos: null },
    },
    tries: [{
      hidden: HIDDEN,
      embedding: EMBEDDING,
      sourceVocabulary: VOCABULARY,
      variant: ["gnmt", "gnmt-v2"],
      layers: [2, 3, 4],
      eos: EOS,
      tokensMax: [9],
      extraSteps: upTo(6),
    }],
  },
  gpt: {
    options: GPT_OPTIONS,
    input: "seq2seq",
    build: gpt,
    sizes: {
      small: { layers: 2, hidden: 32, heads: 4, vocabulary: 512, eos: null },
      medium: { layers: 2, hidden: 64, heads: 4, vocabulary: 1024, eos: null },
      large: { layers: 2, hidden: 128, heads: 4, vocabulary: 2048, eos: null },
      full: {
        layers: 12,
        hidden: 768,
        heads: 12,
        vocabulary: 50_257,
        eos: null,
      },
    },
    tries: [{
      vocabulary: VOCABULARY,
      hidden: [4, 8, 12],
      heads: [1, 2, 4],
      inner: upTo(17),
      layers: [1, 2],
      eos: [...EOS, [2, 5]],
      positionsMax: [20, 32],
      activation: ["relu", "gelu", "gelu-tanh"],
      embeddings: ["plain", "scaled"],
      classifier: ["tied", "separate"],
      banned: [[], [3], [2, 7]],
      extraSteps: [3, 4, 5, 6],
      sample: [false, true],
      penalties: [false, true],
      scores: [false, true],
    }],
  },
  transformer: {
    options: TRANSFORMER_OPTIONS,
    input: "seq2seq",
    build: transformer,
    sizes: {
      small: { layers: 2, hidden: 32, heads: 4, vocabulary: 512, eos: null },
      medium: { layers: 2, hidden: 64, heads: 4, vocabulary: 1024, eos: null },
      large: { layers: 2, hidden: 128, heads: 4, vocabulary: 2048, eos: null },
      full: { layers: 6, hidden: 512, heads: 8, vocabulary: 37_000, eos: null },
    },
    tries: [{
      vocabulary: VOCABULARY,
      hidden: [4, 8, 12],
      heads: [1, 2, 4],
      inner: upTo(17),
      layers: [1, 2],
      eos: EOS,
      tokensMax: [9],
      extraSteps: [3, 4, 5, 6],
    }],
  },
  bert: {
    options: BERT_OPTIONS,
    input: "tokens",
    build: bert,
    sizes: {
      small: { layers: 2, hidden: 64, heads: 4, vocabulary: 2000 },
      medium: { layers: 2, hidden: 128, heads: 4, vocabulary: 2000 },
      large: { layers: 2, hidden: 256, heads: 4, vocabulary: 2000 },
      full: { layers: 12, hidden: 768, heads: 12, vocabulary: 30_522 },
    },
    lengths: "glue.rte",
    tries: [{
      vocabulary: VOCABULARY,
      hidden: [4, 8, 12],
      heads: [1, 2, 4],
      inner: upTo(17),
      layers: [1, 2],
      tokensMax: [9],
      classes: [0, ...upTo(5)],
    }],
  },
  las: {
    options: LAS_OPTIONS,
    input: "frames2seq",
    build: las,
    sizes: {
      small: { hidden: 32, features: 40, eos: null },
      medium: { hidden: 64, features: 40, eos: null },
      large: { hidden: 128, features: 40, eos: null },
      full: { hidden: 256, features: 40, eos: null },
    },
    tries: [{
      features: upTo(5),
      hidden: [1, 2, 3, 4, 6],
      pyramidLayers: [1, 2, 3],
      spellerHidden: upTo(9),
      spellerLayers: [1, 2, 3],
      vocabulary: VOCABULARY,
      eos: EOS,
    }],
  },
  deepspeech2: {
    options: DEEP_SPEECH_2_OPTIONS,
    input: "frames",
    build: deepSpeech2,
    sizes: {
      small: { hidden: 48, layers: 2, channels: 4 },
      medium: { hidden: 96, layers: 2, channels: 8 },
      large: { hidden: 192, layers: 2, channels: 16 },
      full: { hidden: 800, layers: 5, channels: 32 },
    },
    tries: [{
      features: [8, 9, 12],
      channels: [1, 2, 3],
      bins: [[1, 1], [2, 2], [3, 2], [4, 3]],
      span: [1, 2, 3],
      layers: [1, 2, 3],
      hidden: [1, 2, 3, 4, 6, 9],
      classes: upTo(5),
    }],
  },
  treelstm: {
    options: TREE_LSTM_OPTIONS,
    input: "tree",
    build: treeLstm,
    sizes: {
      small: { hidden: 96, vocabulary: 2000 },
      medium: { hidden: 192, vocabulary: 2000 },
      large: { hidden: 384, vocabulary: 2000 },
      full: { hidden: 1024, vocabulary: 30_000 },
    },
    tries: [{
      hidden: HIDDEN,
      embedding: EMBEDDING,
      vocabulary: VOCABULARY,
      classes: [0, ...upTo(5)],
    }],
  },
  resnet50: {
    options: RESNET_OPTIONS,
    input: "image",
    build: resnet50,
    sizes: RESNET_SIZES,
    tries: RESNET_TRIES,
  },
  resnet101: {
    options: RESNET_OPTIONS,
    input: "image",
    build: resnet101,
    sizes: RESNET_SIZES,
    tries: RESNET_TRIES,
  },
  resnet152: {
    options: RESNET_OPTIONS,
    input: "image",
    build: resnet152,
    sizes: RESNET_SIZES,
    tries: RESNET_TRIES,
  },
  vgg16: {
    options: VGG_OPTIONS,
    input: "image",
    build: vgg16,
    sizes: VGG_SIZES,
    tries: VGG_TRIES,
  },
  vgg19: {
    options: VGG_OPTIONS,
    input: "image",
    build: vgg19,
    sizes: VGG_SIZES,
    tries: VGG_TRIES,
  },
  mobilenet: {
    options: MOBILENET_OPTIONS,
    input: "image",
    build: mobilenet,
    sizes: {
      small: { size: 32, width: 4, classes: 100 },
      medium: { size: 32, width: 8, classes: 100 },
      large: { size: 32, width: 16, classes: 100 },
      full: { size: 224, width: 32, classes: 1000 },
    },
    tries: [{
      size: upTo(9),
      channels: [1, 2, 3],
      width: [1, 2, 3],
      blocks: [[1], [1, 1], [1, 2], [2, 1]],
      classes: upTo(9),
    }],
  },
  inceptionv4: {
    options: INCEPTION_V4_OPTIONS,
    input: "image",
    build: inceptionV4,
    sizes: {
      small: { size: 75, width: 2, classes: 100 },
      medium: { size: 75, width: 4, classes: 100 },
      large: { size: 75, width: 8, classes: 100 },
      full: { size: 299, width: 32, classes: 1000 },
    },
    tries: [{
      size: [27, 28, 31],
      channels: [1, 2, 3],
      width: [1, 2],
      blocks: [[1]],
      classes: [1, 4],
    }],
  },
  linknet: {
    options: LINKNET_OPTIONS,
    input: "image",
    build: linknet,
    sizes: {
      small: { size: 32, width: 8 },
      medium: { size: 32, width: 16 },
      large: { size: 32, width: 32 },
      full: { size: 512, width: 64 },
    },
    tries: [{
      size: [8],
      channels: [1, 2],
      width: [1, 2, 5],
      blocks: [[1], [2], [1, 1], [2, 1]],
      classes: [1, 2, 3],
    }],
  },
  unet: {
    options: UNET_OPTIONS,
    input: "image",
    build: unet,
    sizes: {
      small: { size: 32, base: 8, padding: "same" },
      medium: { size: 32, base: 16, padding: "same" },
      large: { size: 32, base: 32, padding: "same" },
      full: { size: 572, base: 64, padding: "valid" },
    },
    tries: ([
      { size: [4], depth: [2], padding: ["same"] },
      { size: [8], depth: [1], padding: ["same"] },
      { size: [18, 20], depth: [1], padding: ["valid"] },
    ] as const).map((form) => ({
      ...form,
      channels: [1, 2],
      base: [1, 2, 3],
      classes: [1, 2, 3],
    })),
  },
};
