/**
 * ONNX files as models that every policy batches; read and checked, whatever is in them, and run as they stand by
 * operators in plain TypeScript, a reference for everything faster.
 * @module
 */
export type { CellSize } from "./onnx/cuts.ts";
export type {
  DecoderInput,
  DecoderModelOptions,
  OnnxDecoder,
} from "./onnx/decoder/decoder_model.ts";
export type { DecoderOptions } from "./onnx/decoder/options.ts";
export type {
  InputSpec,
  InputTensor,
  OnnxInput,
} from "./onnx/input_tensors.ts";
export { attributeOf } from "./onnx/ir.ts";
export type {
  DeclaredDim,
  OnnxAttribute,
  OnnxAttributeKind,
  OnnxAttributeValues,
  OnnxGraph,
  OnnxModel,
  OnnxNode,
  ValueInfo,
} from "./onnx/ir.ts";
export type * from "./mod.ts";
export { dtln } from "./models/dtln.ts";
export type { DtlnParts } from "./models/dtln.ts";
export type { CellSource } from "./models/cell_source.ts";
export { frameShift, overlapAdd } from "./models/frames.ts";
export { silero } from "./models/silero.ts";
export { type FetchOptions, loadOnnx } from "./onnx/load.ts";
export type {
  ModelOptions,
  OnnxCellModel,
  OnnxStreamModel,
} from "./onnx/model.ts";
export type { StateNames } from "./onnx/stream.ts";
export { OnnxError } from "./onnx/place.ts";
export { runPlainGraph } from "./onnx/plain_graph.ts";
export type { ExternalFiles } from "./onnx/read/external_data.ts";
export { quantizeOnnx } from "./onnx/quantize.ts";
export type { QuantizedLayer } from "./onnx/quantize/layer_nodes.ts";
export type { LeftLayer } from "./onnx/quantize/layers.ts";
export type {
  QuantizedFile,
  QuantizeOptions,
} from "./onnx/quantize/quantize_file.ts";
export { readModel } from "./onnx/read/read_model.ts";
export type { ReadOptions } from "./onnx/read/read_model.ts";
export type { GivenConstant, GivenConstants } from "./onnx/given_constants.ts";
export type { GivenSizes } from "./onnx/sizes.ts";
export { plainTensor } from "./tensor/plain_tensor.ts";
export type {
  PlainArrays,
  PlainTensor,
  PlainType,
} from "./tensor/plain_tensor.ts";
export { readPlainSafetensors } from "./tensor/safetensors.ts";
