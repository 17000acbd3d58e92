import type { InputKind, Model } from "../graph/model.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { gnmt } from "./gnmt.ts";
import { lstm } from "./lstm.ts";
import { seq2seq } from "./seq2seq.ts";
import { treeLstm } from "./tree_lstm.ts";

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
  treelstm: {
    options: ["hidden", "embedding", "vocabulary", "arity", "classes"],
    input: "tree",
    build: treeLstm,
  },
};
