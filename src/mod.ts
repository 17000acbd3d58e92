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
export type { RequestOptions } from "./engine/wall/request_options.ts";
export type { ServingOptions } from "./engine/wall/serving_options.ts";
export type { RunResult } from "./engine/wall/run_result.ts";
export type { StepResult, StepStream } from "./engine/wall/step_stream.ts";
export type {
  FrameOptions,
  PipeOptions,
  StreamOptions,
  StreamSession,
} from "./engine/wall/stream_session.ts";
export type { BatchTiming, Timing } from "./engine/wall/timing.ts";
export { defineCell, f32, i32, image, row } from "./graph/cell_builder.ts";
export type {
  CellDefinition,
  Operators,
  PortSpec,
} from "./graph/cell_builder.ts";
export type { CachePort, Cell, Phase, Port } from "./graph/cell.ts";
export type {
  Cache,
  CacheSpec,
  CacheUse,
  Extent,
  Extents,
} from "./graph/cache.ts";
export type {
  CellGraph,
  CellNode,
  NodeOptions,
  NodeOutput,
  Source,
} from "./graph/cell_graph.ts";
export type { InputData } from "./graph/input_data.ts";
export type { GraphShape, Model, ModelRows } from "./graph/model.ts";
export type {
  DynamicRange,
  OutputRange,
  QuantizedConvAttributes,
  QuantizedOperators,
  QuantizedStep,
} from "./graph/operators/quantized.ts";
export type {
  PlainDefinition,
  PlainOperators,
} from "./graph/operators/plain.ts";
export type {
  PlainAttribute,
  PlainAttributes,
  PlainContext,
} from "./plain/operator.ts";
export type {
  PlainArrays,
  PlainTensor,
  PlainType,
} from "./tensor/plain_tensor.ts";
export type { QuantizedTensor, SignedWeights } from "./tensor/quantized.ts";
export type { RowShape, RowType } from "./graph/row_layout.ts";
export type {
  Activation,
  AttentionOperator,
  CacheRef,
  DenseOperator,
  ElementwiseOperator,
  ImageOperator,
  ImageSize,
  Operands,
  Operator,
  PlainOperand,
  PlainRowOperator,
  QuantizedOperator,
  RecurrentOperator,
  Requantized,
  RowOperator,
  RunPlain,
  SignalOperator,
  Value,
} from "./graph/operator.ts";
export type {
  AttentionOperators,
  AttentionOptions,
  HeadOptions,
} from "./graph/operators/attention.ts";
export type { CellOperators } from "./graph/operators/cells.ts";
export type { DenseOperators } from "./graph/operators/dense.ts";
export type {
  ClipBounds,
  ElementwiseOperators,
} from "./graph/operators/elementwise.ts";
export type {
  BatchNormWeights,
  ConvAttributes,
  ConvTransposeAttributes,
  ImageOperators,
  PoolAttributes,
  ResizeAttributes,
  WindowAttributes,
} from "./graph/operators/images.ts";
export type { RecurrentOperators } from "./graph/operators/recurrent.ts";
export type { RowOperators } from "./graph/operators/rows.ts";
export type { SignalOperators } from "./graph/operators/signals.ts";
export type { ParseTree } from "./graph/parse_tree.ts";
export type { OutputTypes, Result, ResultOptions } from "./graph/result.ts";
export type { ExecutionOptions } from "./engine/tensors/tensor_options.ts";
export type { EngineFeature, EngineProbe } from "./kernels/module/features.ts";
export type { TeamWays } from "./kernels/team/leader.ts";
export {
  bert,
  type BertInput,
  type BertOptions,
  type BertOutputs,
} from "./models/bert.ts";
export type { Classified } from "./models/classified.ts";
export type { ImageInput } from "./models/conv_cell.ts";
export { deepSpeech2, type DeepSpeech2Options } from "./models/deepspeech2.ts";
export { gnmt, type GnmtOptions } from "./models/gnmt.ts";
export { inceptionV4, type InceptionV4Options } from "./models/inception_v4.ts";
export type { DrawInput, PenaltyInput } from "./models/draw_input.ts";
export {
  gpt,
  type GptInput,
  type GptModel,
  type GptOptions,
} from "./models/gpt.ts";
export { las, type LasOptions } from "./models/las.ts";
export { linknet, type LinkNetOptions } from "./models/linknet.ts";
export {
  lstm,
  type LstmHead,
  type LstmInput,
  type LstmOptions,
  type LstmOutputs,
} from "./models/lstm.ts";
export { mobilenet, type MobileNetOptions } from "./models/mobilenet.ts";
export {
  resnet101,
  resnet152,
  resnet50,
  type ResNetOptions,
} from "./models/resnet.ts";
export { seq2seq, type Seq2SeqOptions } from "./models/seq2seq.ts";
export type { Seq2SeqInput } from "./models/seq2seq_input.ts";
export type { FramesInput, SpeechInput } from "./models/speech_input.ts";
export type {
  DecoderOutputs,
  DrawingModel,
  DrawOptions,
} from "./models/token_draws.ts";
export { transformer, type TransformerOptions } from "./models/transformer.ts";
export {
  treeLstm,
  type TreeLstmInput,
  type TreeLstmOptions,
  type TreeLstmOutputs,
} from "./models/tree_lstm.ts";
export { unet, type UNetOptions } from "./models/unet.ts";
export { vgg16, vgg19, type VggOptions } from "./models/vgg.ts";
export { auto, type AutoOptions } from "./policy/auto/auto.ts";
export { bucketed, type BucketedOptions } from "./policy/baselines/bucketed.ts";
export { graph, type GraphOptions } from "./policy/baselines/graph_batching.ts";
export { merged, type MergedOptions } from "./policy/baselines/merged.ts";
export { serial } from "./policy/baselines/serial.ts";
export {
  cellular,
  type CellularOptions,
} from "./policy/cellular_batching/cellular.ts";
export { dvabatch, type DvaBatchOptions } from "./policy/dvabatch/dvabatch.ts";
export type { Query } from "./policy/dvabatch/query_table.ts";
export type {
  AdmitChoice,
  AdmitView,
  DvaSchedule,
  WaitingQueries,
} from "./policy/dvabatch/schedule.ts";
export { eEbird, type EEbirdOptions } from "./policy/e2bird/e_ebird.ts";
export { nEbird, type NEbirdOptions } from "./policy/e2bird/n_ebird.ts";
export { late, type LateOptions } from "./policy/late_batching/late.ts";
export { lazy } from "./policy/lazybatching/lazy.ts";
export type { LazyOptions } from "./policy/lazybatching/lazy_options.ts";
export type { SlaNs } from "./policy/common/target.ts";
export type { Launch, Note, Step, Tail, Task, Token } from "./policy/launch.ts";
export type {
  Decision,
  EngineView,
  Policy,
  WorkerView,
} from "./policy/policy.ts";
export type { CurvePoints } from "./base/curve.ts";
export type { Profile, ProfileTable } from "./policy/profile.ts";
export type {
  Observer,
  Outcome,
  RequestRecord,
  TaskRecord,
} from "./policy/records.ts";
export type { NodeOf, Request } from "./policy/request.ts";
export { readSafetensors } from "./tensor/safetensors.ts";
export {
  defineStream,
  type Frame,
  type FrameData,
  type FrameRequest,
  type StateSpec,
  type StreamDefinition,
  type StreamModel,
  type StreamSpec,
} from "./graph/stream_model.ts";
export {
  gruStream,
  lstmStream,
  type RnnStreamOptions,
  type RnnStreamOutputs,
} from "./models/rnn_stream.ts";
export { tensor } from "./tensor/tensor.ts";
export type { ImageShape, Pair } from "./tensor/image_shape.ts";
export type {
  CoordinateMode,
  NearestMode,
  ResizeAxis,
} from "./tensor/resize_axis.ts";
export type { DataOf, Dtype, Tensor, TensorData } from "./tensor/tensor.ts";
export { namedWeights } from "./tensor/weights.ts";
export type { WeightSource } from "./tensor/weights.ts";
