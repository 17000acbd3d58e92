/**
 * ONNX files for tests and benches (field numbers from onnx.proto), as trees of fields: `writeModel` gives bytes,
 * `modelMessage` what a test may still change.
 */
import type { PlainTensor, PlainType } from "../../src/tensor/plain_tensor.ts";
import {
  bytes,
  encode,
  integer,
  message,
  text,
  type WireField,
  type WireMessage,
} from "./wire.ts";

/** Element types by their ONNX numbers. */
export const ELEMENT: Record<
  PlainType | "float16" | "bfloat16" | "float64",
  number
> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};

/** Name and type of a value; a dim may be a name, or null for an unknown one. */
export interface WrittenValue {
  name: string;
  type?: keyof typeof ELEMENT;
  dims?: readonly (number | string | null)[];
  /** A sequence of such tensors. */
  isSequence?: boolean;
}

/** A tensor, or fields that stand for one. */
export type WrittenTensor = PlainTensor | { fields: WireMessage };

/** A number is an int, a list one of ints. */
export type WrittenAttribute =
  | number
  | string
  | readonly number[]
  | { float: number }
  | { floats: readonly number[] }
  | { strings: readonly string[] }
  | { tensor: WrittenTensor }
  | { graph: WrittenGraph }
  | { reference: string; type: number };

/** A node. */
export interface WrittenNode {
  op: string;
  name?: string;
  domain?: string;
  inputs: readonly string[];
  outputs: readonly string[];
  attributes?: Readonly<Record<string, WrittenAttribute>>;
}

/** A node without a name. */
export function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes?: WrittenNode["attributes"],
): WrittenNode {
  return { op, inputs, outputs, attributes };
}

/** A graph. */
export interface WrittenGraph {
  name?: string;
  inputs?: readonly WrittenValue[];
  outputs: readonly WrittenValue[];
  initializers?: Readonly<Record<string, WrittenTensor>>;
  nodes: readonly WrittenNode[];
  values?: readonly WrittenValue[];
}

/** A function of a model. */
export interface WrittenFunction {
  name: string;
  domain: string;
  inputs: readonly string[];
  outputs: readonly string[];
  attributes?: readonly string[];
  defaults?: Readonly<Record<string, WrittenAttribute>>;
  nodes: readonly WrittenNode[];
  opsets?: Readonly<Record<string, number>>;
}

/** A model. */
export interface WrittenModel {
  graph: WrittenGraph;
  /** By domain; operator set 20 of ONNX's own by default. */
  opsets?: Readonly<Record<string, number>>;
  functions?: readonly WrittenFunction[];
  irVersion?: number;
  metadata?: Readonly<Record<string, string>>;
}

const IR_VERSION = 9;
const OPSETS = { "": 20 };

/** A file's bytes. */
export function writeModel(model: WrittenModel): Uint8Array<ArrayBuffer> {
  return encode(modelMessage(model));
}

/** `ModelProto`. */
export function modelMessage(model: WrittenModel): WireMessage {
  return [
    integer(1, model.irVersion ?? IR_VERSION),
    text(2, "a test"),
    message(7, graphMessage(model.graph)),
    ...opsetFields(8, model.opsets ?? OPSETS),
    ...Object.entries(model.metadata ?? {}).map(([key, value]) =>
      message(14, [text(1, key), text(2, value)])
    ),
    ...(model.functions ?? []).map((made) =>
      message(25, functionMessage(made))
    ),
  ];
}

function opsetFields(
  number: number,
  opsets: Readonly<Record<string, number>>,
): WireField[] {
  return Object.entries(opsets).map(([domain, version]) =>
    message(number, [text(1, domain), integer(2, version)])
  );
}

function functionMessage(made: WrittenFunction): WireMessage {
  return [
    text(1, made.name),
    ...made.inputs.map((name) => text(4, name)),
    ...made.outputs.map((name) => text(5, name)),
    ...(made.attributes ?? []).map((name) => text(6, name)),
    ...made.nodes.map((node) => message(7, nodeMessage(node))),
    ...opsetFields(9, made.opsets ?? OPSETS),
    text(10, made.domain),
    ...attributeFields(11, made.defaults ?? {}),
  ];
}

/** `GraphProto`. */
export function graphMessage(graph: WrittenGraph): WireMessage {
  return [
    ...graph.nodes.map((node) => message(1, nodeMessage(node))),
    text(2, graph.name ?? "graph"),
    ...Object.entries(graph.initializers ?? {}).map(([name, tensor]) =>
      message(5, [...tensorMessage(tensor), text(8, name)])
    ),
    ...(graph.inputs ?? []).map((value) => message(11, valueMessage(value))),
    ...graph.outputs.map((value) => message(12, valueMessage(value))),
    ...(graph.values ?? []).map((value) => message(13, valueMessage(value))),
  ];
}

function nodeMessage(node: WrittenNode): WireMessage {
  return [
    ...node.inputs.map((name) => text(1, name)),
    ...node.outputs.map((name) => text(2, name)),
    ...(node.name === undefined ? [] : [text(3, node.name)]),
    text(4, node.op),
    ...attributeFields(5, node.attributes ?? {}),
    ...(node.domain === undefined ? [] : [text(7, node.domain)]),
  ];
}

function attributeFields(
  number: number,
  attributes: Readonly<Record<string, WrittenAttribute>>,
): WireField[] {
  return Object.entries(attributes).map(([name, value]) =>
    message(number, [text(1, name), ...attributeValue(value)])
  );
}

function attributeValue(value: WrittenAttribute): WireMessage {
  if (typeof value === "number") return [integer(3, value), integer(20, 2)];
  if (typeof value === "string") return [text(4, value), integer(20, 3)];
  if ("float" in value) return [[2, value], integer(20, 1)];
  if ("floats" in value) {
    return [
      ...value.floats.map((float): WireField => [7, { float }]),
      integer(20, 6),
    ];
  }
  if ("strings" in value) {
    return [...value.strings.map((one) => text(9, one)), integer(20, 8)];
  }
  if ("tensor" in value) {
    return [message(5, tensorMessage(value.tensor)), integer(20, 4)];
  }
  if ("graph" in value) {
    return [message(6, graphMessage(value.graph)), integer(20, 5)];
  }
  if ("reference" in value) {
    return [integer(20, value.type), text(21, value.reference)];
  }
  return [...value.map((one) => integer(8, one)), integer(20, 7)];
}

/** `TensorProto` with raw data, without a name. */
export function tensorMessage(tensor: WrittenTensor): WireMessage {
  if ("fields" in tensor) return tensor.fields;
  const { type, dims, data: { buffer, byteOffset, byteLength } } = tensor;
  return [
    ...dims.map((size) => integer(1, size)),
    integer(2, ELEMENT[type]),
    bytes(9, new Uint8Array(buffer, byteOffset, byteLength)),
  ];
}

/** `ValueInfoProto`. */
function valueMessage(
  { name, type = "float32", dims, isSequence = false }: WrittenValue,
): WireMessage {
  const shape = dims?.map((size) =>
    message(
      1,
      size === null
        ? []
        : [typeof size === "number" ? integer(1, size) : text(2, size)],
    )
  );
  const tensorType = message(1, [
    integer(1, ELEMENT[type]),
    ...(shape === undefined ? [] : [message(2, shape)]),
  ]);
  return [
    text(1, name),
    message(2, [
      isSequence ? message(4, [message(1, [tensorType])]) : tensorType,
    ]),
  ];
}
