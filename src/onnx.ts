/** ONNX files as models that every policy batches. @module */
export { loadOnnx } from "./onnx/load.ts";
export type { ModelOptions, OnnxCellModel } from "./onnx/model.ts";
export type {
  InputSpec,
  InputTensor,
  OnnxInput,
} from "./onnx/input_tensors.ts";
export type { CellSize } from "./onnx/cuts.ts";
export type { GivenSizes } from "./onnx/sizes.ts";
export { OnnxError } from "./onnx/place.ts";
