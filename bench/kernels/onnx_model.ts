/**
 * The smallest ONNX encoder that a one-operator model needs (protobuf wire format; field
 * numbers from onnx.proto3), so that peers can be timed on the very same operator.
 */

/** A constant or a graph input or output. All tensors are f32. */
export interface OnnxValue {
  name: string;
  shape: readonly number[];
}

/** A model of one node. */
export interface OneNodeModel {
  opType: string;
  /** Input names in the operator's order; "" leaves an optional input out. */
  nodeInputs: readonly string[];
  /** Output names in the operator's order; "" leaves an optional output out. */
  nodeOutputs: readonly string[];
  /** Integer attributes. */
  attributes: Readonly<Record<string, number>>;
  constants: readonly (OnnxValue & { data: Float32Array })[];
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
}

const OPSET_VERSION = 14;
const IR_VERSION = 8;
const FLOAT = 1;
const ATTRIBUTE_INT = 2;

type Bytes = Uint8Array<ArrayBuffer>;

function concatenate(parts: readonly Uint8Array[]): Bytes {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function varint(value: number): Bytes {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) {
    bytes.push(value % 128 + 128);
  }
  return Uint8Array.from([...bytes, value]);
}

/** An integer field. */
function integer(field: number, value: number): Bytes {
  return concatenate([varint(field * 8), varint(value)]);
}

/** A length-delimited field: a string, bytes or a message. */
function delimited(
  field: number,
  content: string | Uint8Array | readonly Uint8Array[],
): Bytes {
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content instanceof Uint8Array
    ? content
    : concatenate(content);
  return concatenate([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

function valueInfo({ name, shape }: OnnxValue): Bytes[] {
  const dimensions = shape.map((size) => delimited(1, integer(1, size)));
  const tensorType = [integer(1, FLOAT), delimited(2, dimensions)];
  return [delimited(1, name), delimited(2, delimited(1, tensorType))];
}

function tensorProto(
  { name, shape, data }: OnnxValue & { data: Float32Array },
): Bytes[] {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [
    ...shape.map((size) => integer(1, size)),
    integer(2, FLOAT),
    delimited(8, name),
    delimited(9, raw),
  ];
}

/** Encodes a model of one node as ONNX bytes. */
export function encodeModel(model: OneNodeModel): Bytes {
  const node = [
    ...model.nodeInputs.map((name) => delimited(1, name)),
    ...model.nodeOutputs.map((name) => delimited(2, name)),
    delimited(4, model.opType),
    ...Object.entries(model.attributes).map(([name, value]) =>
      delimited(5, [
        delimited(1, name),
        integer(3, value),
        integer(20, ATTRIBUTE_INT),
      ])
    ),
  ];
  const graph = [
    delimited(1, node),
    delimited(2, "one_node"),
    ...model.constants.map((constant) => delimited(5, tensorProto(constant))),
    ...model.inputs.map((input) => delimited(11, valueInfo(input))),
    ...model.outputs.map((output) => delimited(12, valueInfo(output))),
  ];
  return concatenate([
    integer(1, IR_VERSION),
    delimited(7, graph),
    delimited(8, [delimited(1, ""), integer(2, OPSET_VERSION)]),
  ]);
}
