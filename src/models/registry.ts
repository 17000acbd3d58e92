import type { InputKind, Model } from "../graph/model.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { bert, BERT_OPTIONS } from "./bert.ts";
import { gnmt, GNMT_OPTIONS } from "./gnmt.ts";
import { lstm, LSTM_OPTIONS } from "./lstm.ts";
import { resnet50, RESNET50_OPTIONS } from "./resnet50.ts";
import { seq2seq, SEQ2SEQ_OPTIONS } from "./seq2seq.ts";
import { transformer, TRANSFORMER_OPTIONS } from "./transformer.ts";
import { TREE_LSTM_OPTIONS, treeLstm } from "./tree_lstm.ts";
import { unet, UNET_OPTIONS } from "./unet.ts";

export interface ModelEntry {
  /** Options a configuration may name. */
  readonly options: readonly string[];
  readonly input: InputKind;
  build(options: Record<string, unknown> & { weights?: WeightSource }): Model;
}

/** Every model by name: one line adds one to the bench, the command line and the property tests. */
export const MODELS: Readonly<Record<string, ModelEntry>> = {
  lstm: {
    options: LSTM_OPTIONS,
    input: "tokens",
    build: lstm,
  },
  seq2seq: {
    options: SEQ2SEQ_OPTIONS,
    input: "seq2seq",
    build: seq2seq,
  },
  gnmt: {
    options: GNMT_OPTIONS,
    input: "seq2seq",
    build: gnmt,
  },
  transformer: {
    options: TRANSFORMER_OPTIONS,
    input: "seq2seq",
    build: transformer,
  },
  bert: {
    options: BERT_OPTIONS,
    input: "tokens",
    build: bert,
  },
  treelstm: {
    options: TREE_LSTM_OPTIONS,
    input: "tree",
    build: treeLstm,
  },
  resnet50: {
    options: RESNET50_OPTIONS,
    input: "image",
    build: resnet50,
  },
  unet: {
    options: UNET_OPTIONS,
    input: "image",
    build: unet,
  },
};
