import type { InputKind, Model } from "../graph/model.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { bert } from "./bert.ts";
import { gnmt } from "./gnmt.ts";
import { lstm } from "./lstm.ts";
import { resnet50 } from "./resnet50.ts";
import { seq2seq } from "./seq2seq.ts";
import { transformer } from "./transformer.ts";
import { treeLstm } from "./tree_lstm.ts";
import { unet } from "./unet.ts";

export interface ModelEntry {
  /** Options a configuration may name. */
  readonly options: readonly string[];
  readonly input: InputKind;
  build(options: Record<string, unknown> & { weights?: WeightSource }): Model;
}

/** Every model by name: one line adds one to the bench, the command line and the property tests. */
export const MODELS: Readonly<Record<string, ModelEntry>> = {
  lstm: {
    options: ["hidden", "embedding", "vocabulary", "head", "classes"],
    input: "tokens",
    build: lstm,
  },
  seq2seq: {
    options: [
      "rnn",
      "hidden",
      "embedding",
      "sourceVocabulary",
      "targetVocabulary",
      "go",
      "eos",
      "extraSteps",
    ],
    input: "seq2seq",
    build: seq2seq,
  },
  gnmt: {
    options: [
      "variant",
      "layers",
      "hidden",
      "embedding",
      "sourceVocabulary",
      "targetVocabulary",
      "go",
      "eos",
      "tokensMax",
      "extraSteps",
    ],
    input: "seq2seq",
    build: gnmt,
  },
  transformer: {
    options: [
      "layers",
      "hidden",
      "heads",
      "inner",
      "vocabulary",
      "go",
      "eos",
      "tokensMax",
      "extraSteps",
    ],
    input: "seq2seq",
    build: transformer,
  },
  bert: {
    options: [
      "layers",
      "hidden",
      "heads",
      "inner",
      "vocabulary",
      "tokensMax",
      "classes",
    ],
    input: "tokens",
    build: bert,
  },
  treelstm: {
    options: ["hidden", "embedding", "vocabulary", "arity", "classes"],
    input: "tree",
    build: treeLstm,
  },
  resnet50: {
    options: ["size", "channels", "width", "blocks", "classes", "variant"],
    input: "image",
    build: resnet50,
  },
  unet: {
    options: ["size", "channels", "base", "depth", "classes", "padding"],
    input: "image",
    build: unet,
  },
};
