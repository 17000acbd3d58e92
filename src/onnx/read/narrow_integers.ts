/** Integers of 4 and 2 bits, several of which share a byte: weights that DequantizeLinear reads, as integers of 8 bits. */
import { newElements, type PlainTensor } from "../../tensor/plain_tensor.ts";
import { CONTRIB_DOMAIN } from "../domains.ts";
import { type Place, quoted } from "../place.ts";
import { type RawGraph, rawGraphsOf, type RawNode } from "./raw_graph.ts";

/** Integers of a file that are read as those of 8 bits. */
export interface NarrowType {
  readonly type: "int8" | "uint8";
  readonly bits: 2 | 4;
}

/** By their number in files: `TensorProto.DataType` of onnx.proto. */
const NARROW_TYPES: ReadonlyMap<number, NarrowType> = new Map([
  [21, { type: "uint8", bits: 4 }],
  [22, { type: "int8", bits: 4 }],
  [25, { type: "uint8", bits: 2 }],
  [26, { type: "int8", bits: 2 }],
]);

/** Integers of less than 8 bits that a type of a file is; undefined for any other. */
export function narrowTypeOf(dataType: number): NarrowType | undefined {
  return NARROW_TYPES.get(dataType);
}

/** Bytes that `count` of them take. */
export function narrowBytes({ bits }: NarrowType, count: number): number {
  return Math.ceil(count * bits / 8);
}

/** Takes them out of their bytes, in which the first ones are the lowest. */
export function narrowElements(
  { type, bits }: NarrowType,
  bytes: ArrayLike<number>,
  count: number,
): Int8Array | Uint8Array {
  const out = newElements(type, count);
  const perByte = 8 / bits;
  const unused = 32 - bits;
  for (let i = 0; i < count; i++) {
    const above = bytes[Math.floor(i / perByte)] <<
      unused - bits * (i % perByte);
    out[i] = type === "int8" ? above >> unused : above >>> unused;
  }
  return out;
}

/** Operators that read them as what they are; what is made of them by others might have to be as narrow again. */
const READERS: ReadonlyMap<string, string> = new Map([
  ["DequantizeLinear", ""],
  ["GatherBlockQuantized", CONTRIB_DOMAIN],
]);

/** @throws OnnxError naming a node that reads them and does not dequantise, or an output that they are */
export function checkNarrow(
  graph: RawGraph,
  place: Place,
  around: ReadonlySet<string> = new Set(),
): void {
  const own = new Set(around);
  for (const [name, { bits }] of graph.initializers) {
    if (bits !== undefined) own.add(name);
  }
  for (const node of graph.nodes) {
    const { bits } = constantOf(node) ?? {};
    if (bits !== undefined) own.add(node.outputs[0]);
  }
  const refuse = (name: string, at: Place) =>
    at.fail(
      `${quoted(name)} is integers of less than 8 bits, which only ${
        [...READERS.keys()].join(" and ")
      } read`,
    );
  for (const { name } of graph.outputs) {
    if (own.has(name)) refuse(name, place.in(`output ${quoted(name)}`));
  }
  for (const node of graph.nodes) {
    const { op, domain, inputs, attributes } = node;
    const at = place.node(node);
    if (READERS.get(op) !== domain) {
      const name = inputs.find((name) => own.has(name));
      if (name !== undefined) refuse(name, at);
    }
    for (const [name, attribute] of attributes) {
      for (const inner of rawGraphsOf(attribute)) {
        checkNarrow(inner, at.in(`attribute ${quoted(name)}`), own);
      }
    }
  }
}

/** The tensor that a Constant is. */
function constantOf({ op, attributes }: RawNode): PlainTensor | undefined {
  const value = op === "Constant" ? attributes.get("value") : undefined;
  return value?.kind === "tensor" ? value.value : undefined;
}
