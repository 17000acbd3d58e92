/** ONNX files of the kernels' cases, so that peers can be timed on the very same operators. */
import type {
  ElementType,
  Equivalent,
  OnnxNode,
  PlainTensor,
  PlainValue,
} from "../../test/kernels/equivalent.ts";
import type { PlainTensor as Constant } from "../../src/tensor/plain_tensor.ts";
import { writeModel, type WrittenValue } from "../../test/onnx/write_model.ts";

/** Element types by the names that files have for them. */
const TYPES = {
  f32: "float32",
  u8: "uint8",
  i8: "int8",
  i32: "int32",
  i64: "int64",
} as const satisfies Record<ElementType, Constant["type"]>;

/** An input or output; a size that is a text is one of that name, which runs bring. */
export interface OnnxValue extends Omit<PlainValue, "shape"> {
  shape: readonly (number | string)[];
}

/** What a model file holds of an {@linkcode Equivalent}. */
export type OnnxModel =
  & {
    [Part in "nodes" | "constants"]: Equivalent[Part];
  }
  & { inputs: readonly OnnxValue[]; outputs: readonly OnnxValue[] };

const OPSETS = { "": 20, "com.microsoft": 1 };

function value({ name, shape, type = "f32" }: OnnxValue): WrittenValue {
  return { name, dims: shape, type: TYPES[type] };
}

function constant(
  { name, shape, type = "f32", data }: PlainTensor,
): [name: string, tensor: Constant] {
  return [name, { type: TYPES[type], dims: shape, data } as Constant];
}

function node({ opType, ...others }: OnnxNode) {
  return { op: opType, ...others };
}

/** Encodes a model as ONNX bytes. */
export function encodeModel(model: OnnxModel): Uint8Array<ArrayBuffer> {
  return writeModel({
    opsets: OPSETS,
    graph: {
      inputs: model.inputs.map(value),
      outputs: model.outputs.map(value),
      initializers: Object.fromEntries(model.constants.map(constant)),
      nodes: model.nodes.map(node),
    },
  });
}
