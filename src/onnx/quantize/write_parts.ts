/** Nodes and tensors as onnx.proto has them (`NodeProto`, `TensorProto`), in bytes. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { bytesField, integerField, joined, textField } from "./wire_fields.ts";

const NODE = {
  input: 1,
  output: 2,
  name: 3,
  opType: 4,
  attribute: 5,
  domain: 7,
};
const ATTRIBUTE = { name: 1, int: 3, type: 20 };
const INT_TYPE = 2;
const TENSOR = { dims: 1, dataType: 2, name: 8, rawData: 9 };

/** `TensorProto.DataType` of what is written. */
const DATA_TYPES = { float32: 1, uint8: 2, int8: 3 } as const;

/** Types that are written. */
export type WrittenType = keyof typeof DATA_TYPES;

/** A node to be written. */
export interface WrittenNode {
  readonly op: string;
  /** Default: ONNX's own. */
  readonly domain?: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Attributes that are integers. */
  readonly ints?: Readonly<Record<string, number>>;
  /** Attributes of another node as they are written there, tags included. */
  readonly copied?: readonly Uint8Array[];
}

/** `NodeProto`. */
export function nodeBytes(
  { op, domain, name, inputs, outputs, ints = {}, copied = [] }: WrittenNode,
): Uint8Array {
  return joined([
    ...inputs.map((input) => textField(NODE.input, input)),
    ...outputs.map((output) => textField(NODE.output, output)),
    textField(NODE.name, name),
    textField(NODE.opType, op),
    ...(domain === undefined ? [] : [textField(NODE.domain, domain)]),
    ...copied,
    ...Object.entries(ints).map(([name, value]) =>
      bytesField(NODE.attribute, [
        textField(ATTRIBUTE.name, name),
        integerField(ATTRIBUTE.int, value),
        integerField(ATTRIBUTE.type, INT_TYPE),
      ])
    ),
  ]);
}

/** `TensorProto` with raw data, which are little-endian as all machines of today are. */
export function tensorBytes(
  name: string,
  { type, dims, data }: PlainTensor<WrittenType>,
): Uint8Array {
  const { buffer, byteOffset, byteLength } = data;
  return joined([
    ...dims.map((size) => integerField(TENSOR.dims, size)),
    integerField(TENSOR.dataType, DATA_TYPES[type]),
    textField(TENSOR.name, name),
    bytesField(TENSOR.rawData, [
      new Uint8Array(buffer, byteOffset, byteLength),
    ]),
  ]);
}
