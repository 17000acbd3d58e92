/**
 * The smallest ONNX encoder that small models need (protobuf wire format; field numbers from
 * onnx.proto3), so that peers can be timed on the very same operators.
 */

import type {
  ElementType,
  Equivalent,
  OnnxNode,
  PlainTensor,
  PlainValue,
} from "../../test/kernels/equivalent.ts";

/** Element types by their ONNX numbers. */
const ELEMENT: Record<ElementType, number> = {
  f32: 1,
  u8: 2,
  i8: 3,
  i32: 6,
  i64: 7,
};

/** What a model file holds of an {@linkcode Equivalent}. */
export type OnnxModel =
  & {
    [Part in "nodes" | "constants"]: Equivalent[Part];
  }
  & { inputs: readonly PlainValue[]; outputs: readonly PlainValue[] };

const OPSET_VERSION = 20;
const IR_VERSION = 9;
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const;

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

function valueInfo({ name, shape, type = "f32" }: PlainValue): Bytes[] {
  const dimensions = shape.map((size) => delimited(1, integer(1, size)));
  const tensorType = [integer(1, ELEMENT[type]), delimited(2, dimensions)];
  return [delimited(1, name), delimited(2, delimited(1, tensorType))];
}

function tensorProto(
  { name, shape, type = "f32", data }: PlainTensor,
): Bytes[] {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [
    ...shape.map((size) => integer(1, size)),
    integer(2, ELEMENT[type]),
    delimited(8, name),
    delimited(9, raw),
  ];
}

function attribute(
  name: string,
  value: number | readonly number[] | string | { float: number },
): Bytes {
  if (typeof value === "string") {
    return delimited(5, [
      delimited(1, name),
      delimited(4, value),
      integer(20, ATTRIBUTE.string),
    ]);
  }
  if (typeof value === "number") {
    return delimited(5, [
      delimited(1, name),
      integer(3, value),
      integer(20, ATTRIBUTE.int),
    ]);
  }
  if ("float" in value) {
    const bytes = new Uint8Array(Float32Array.of(value.float).buffer);
    return delimited(5, [
      delimited(1, name),
      concatenate([varint(2 * 8 + 5), bytes]),
      integer(20, ATTRIBUTE.float),
    ]);
  }
  return delimited(5, [
    delimited(1, name),
    ...value.map((item) => integer(8, item)),
    integer(20, ATTRIBUTE.ints),
  ]);
}

function nodeProto(node: OnnxNode): Bytes[] {
  return [
    ...node.inputs.map((name) => delimited(1, name)),
    ...node.outputs.map((name) => delimited(2, name)),
    delimited(4, node.opType),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) =>
      attribute(name, value)
    ),
    ...(node.domain === undefined ? [] : [delimited(7, node.domain)]),
  ];
}

/** Encodes a model as ONNX bytes. */
export function encodeModel(model: OnnxModel): Bytes {
  const graph = [
    ...model.nodes.map((node) => delimited(1, nodeProto(node))),
    delimited(2, "graph"),
    ...model.constants.map((constant) => delimited(5, tensorProto(constant))),
    ...model.inputs.map((input) => delimited(11, valueInfo(input))),
    ...model.outputs.map((output) => delimited(12, valueInfo(output))),
  ];
  return concatenate([
    integer(1, IR_VERSION),
    delimited(7, graph),
    delimited(8, [delimited(1, ""), integer(2, OPSET_VERSION)]),
    delimited(8, [delimited(1, "com.microsoft"), integer(2, 1)]),
  ]);
}
