/** ONNX files of the kernels' cases, so that peers can be timed on the very same operators. */
import type {
  Equivalent,
  OnnxNode,
  PlainTensor,
  PlainValue,
} from "../../test/kernels/equivalent.ts";
import {
  PLAIN_TYPE_OF,
  type PlainTensor as Constant,
} from "../../src/tensor/plain_tensor.ts";
import { writeModel, type WrittenValue } from "../../test/onnx/write_model.ts";

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
  return { name, dims: shape, type: PLAIN_TYPE_OF[type] };
}

function constant(
  { name, shape, type = "f32", data }: PlainTensor,
): [name: string, tensor: Constant] {
  return [name, { type: PLAIN_TYPE_OF[type], dims: shape, data } as Constant];
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
