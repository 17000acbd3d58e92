/** Serving models: the engine, its policies, models and cells of one's own. @module */
export type { Ending } from "./engine/core/active_request.ts";
export {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
  WorkerError,
} from "./engine/core/errors.ts";
export { ServingEngine } from "./engine/wall/serving.ts";
export type { RequestOptions, ServingOptions } from "./engine/wall/serving.ts";
export { defineCell, f32, i32, image } from "./graph/cell_builder.ts";
export type { CellDefinition, Operators } from "./graph/cell_builder.ts";
export type { Cell, Phase, Port } from "./graph/cell.ts";
export type { Cache, CacheSpec, Extent } from "./graph/cache.ts";
export type { CellGraph, CellNode, Source } from "./graph/cell_graph.ts";
export type { Model, Result } from "./graph/model.ts";
export type { ImageSize, Operator, Value } from "./graph/operator.ts";
export type { ParseTree } from "./graph/parse_tree.ts";
export { bert, type BertInput, type BertOptions } from "./models/bert.ts";
export type { ImageInput } from "./models/conv_cell.ts";
export { gnmt, type GnmtOptions } from "./models/gnmt.ts";
export { lstm, type LstmInput, type LstmOptions } from "./models/lstm.ts";
export { resnet50, type ResNet50Options } from "./models/resnet50.ts";
export { seq2seq, type Seq2SeqOptions } from "./models/seq2seq.ts";
export type { Seq2SeqInput } from "./models/seq2seq_input.ts";
export { transformer, type TransformerOptions } from "./models/transformer.ts";
export {
  treeLstm,
  type TreeLstmInput,
  type TreeLstmOptions,
} from "./models/tree_lstm.ts";
export { unet, type UNetOptions } from "./models/unet.ts";
export { bucketed } from "./policy/baselines/bucketed.ts";
export { graph } from "./policy/baselines/graph_batching.ts";
export { merged } from "./policy/baselines/merged.ts";
export { serial } from "./policy/baselines/serial.ts";
export { cellular } from "./policy/cellular_batching/cellular.ts";
export { dvabatch } from "./policy/dvabatch/dvabatch.ts";
export { eEbird } from "./policy/e2bird/e_ebird.ts";
export { nEbird } from "./policy/e2bird/n_ebird.ts";
export { late } from "./policy/late_batching/late.ts";
export { lazy } from "./policy/lazybatching/lazy.ts";
export type { Launch, Note, Step, Task, Token } from "./policy/launch.ts";
export type {
  Decision,
  EngineView,
  Policy,
  WorkerView,
} from "./policy/policy.ts";
export type { Profile, ProfileTable } from "./policy/profile.ts";
export type { Observer, RequestRecord, TaskRecord } from "./policy/records.ts";
export type { Request } from "./policy/request.ts";
export { readSafetensors } from "./tensor/safetensors.ts";
export { tensor } from "./tensor/tensor.ts";
export type { Tensor } from "./tensor/tensor.ts";
export { namedWeights } from "./tensor/weights.ts";
export type { WeightSource } from "./tensor/weights.ts";
