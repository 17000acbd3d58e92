/** A file's graph as it is written, and as it is read, node by node. */
import { dataTypeName } from "../../tensor/onnx_types.ts";
import {
  bytesOfStored,
  type StoredType,
} from "../../tensor/stored_elements.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { type Place, quoted } from "../place.ts";
import { ReadContext } from "../read/context.ts";
import { ExternalData, type ExternalFiles } from "../read/external_data.ts";
import { ProtoMessage } from "../../base/proto_message.ts";
import { narrowBytes, narrowTypeOf } from "../read/narrow_integers.ts";
import { type RawGraph, rawGraphsOf } from "../read/raw_graph.ts";
import { readGraph } from "../read/read_graph.ts";
import {
  bytesField,
  fieldsOf,
  insideOf,
  integerOf,
  textOf,
  type WireField,
} from "./wire_fields.ts";

/** Fields of `GraphProto`. */
export const GRAPH = { node: 1, initializer: 5, input: 11, valueInfo: 13 };

const NODE_ATTRIBUTE = 5;
const ATTRIBUTE = { name: 1, tensor: 5, graph: 6, tensors: 10, graphs: 11 };
const TENSOR = {
  dataType: 2,
  name: 8,
  rawData: 9,
  externalData: 13,
  location: 14,
};
const EXTERNAL = 1;
const FLOAT32 = 1;

/** Operators of which the result is of the type of the first input, and elements are the same. */
const VIEWS: ReadonlySet<string> = new Set([
  ...["Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"],
]);

/** A graph that is read and kept. */
export class StoredGraph {
  /** In the order in which they are written. */
  readonly fields: readonly WireField[];
  readonly raw: RawGraph;
  /** Names of its nodes and values, those in graphs inside included. */
  readonly names = new Set<string>();
  /** Places of nodes by what comes out of them. */
  readonly producers = new Map<string, number>();
  readonly #nodes: readonly WireField[];
  /** `TensorProto.DataType` by initializer. */
  readonly #types = new Map<string, number | undefined>();
  readonly #external: ExternalFiles;

  /** @param bytes of a graph that can be read */
  constructor(
    bytes: Uint8Array,
    readonly place: Place,
    external: ExternalFiles,
  ) {
    this.#external = external;
    this.fields = fieldsOf(bytes);
    this.#nodes = this.fields.filter(({ number }) => number === GRAPH.node);
    const context = new ReadContext(new ExternalData(external));
    this.raw = readGraph(
      new ProtoMessage(bytes, place, context.budget),
      context,
    );
    this.raw.nodes.forEach(({ outputs }, at) => {
      for (const name of outputs) this.producers.set(name, at);
    });
    collectNames(this.raw, this.names);
    for (const field of this.fields) {
      if (field.number !== GRAPH.initializer) continue;
      const tensor = fieldsOf(insideOf(field));
      this.#types.set(
        textOf(tensor, TENSOR.name),
        integerOf(tensor, TENSOR.dataType),
      );
    }
  }

  /** Whether a constant is float32 in the file: a float16 is read as one, too. */
  isFloat32(name: string): boolean {
    const at = this.producers.get(name);
    if (at === undefined) return this.#types.get(name) === FLOAT32;
    const { op, domain, inputs } = this.raw.nodes[at];
    if (domain !== "") return false;
    if (VIEWS.has(op)) return this.isFloat32(inputs[0]);
    if (op !== "Constant") return false;
    const value = this.attributes(at).find(([name]) => name === "value");
    const tensor = value &&
      fieldsOf(value[1]).find(({ number }) => number === ATTRIBUTE.tensor);
    return tensor !== undefined &&
      integerOf(fieldsOf(insideOf(tensor)), TENSOR.dataType) === FLOAT32;
  }

  /** Attributes of a node as they are written, without their tags, by name. */
  attributes(at: number): [name: string, bytes: Uint8Array][] {
    return fieldsOf(insideOf(this.#nodes[at]))
      .filter(({ number }) => number === NODE_ATTRIBUTE)
      .map((field) => {
        const bytes = insideOf(field);
        return [textOf(fieldsOf(bytes), ATTRIBUTE.name), bytes];
      });
  }

  /** A node's field without the attributes of some names. */
  without(node: WireField, names: readonly string[]): Uint8Array {
    if (names.length === 0) return node.bytes;
    const isLeft = (field: WireField) =>
      field.number === NODE_ATTRIBUTE &&
      names.includes(textOf(fieldsOf(insideOf(field)), ATTRIBUTE.name));
    return bytesField(
      GRAPH.node,
      fieldsOf(insideOf(node)).filter((field) => !isLeft(field))
        .map(({ bytes }) => bytes),
    );
  }

  /** An initializer with its bytes in the file. */
  inlined(field: WireField): Uint8Array {
    const tensor = insideOf(field);
    const fields = fieldsOf(tensor);
    if (integerOf(fields, TENSOR.location) !== EXTERNAL) return field.bytes;
    const context = new ReadContext(new ExternalData(this.#external));
    const name = textOf(fields, TENSOR.name);
    const [, { dims }] = this.raw.initializers.find(([own]) => own === name)!;
    const type = this.#types.get(name)!;
    const narrow = narrowTypeOf(type);
    const count = elementCount(dims);
    const data = context.external.read(
      new ProtoMessage(tensor, this.place, context.budget),
      narrow
        ? narrowBytes(narrow, count)
        // What else is read is of a type that is stored.
        : count * bytesOfStored(dataTypeName(type) as StoredType),
    );
    const dropped = [TENSOR.externalData, TENSOR.location, TENSOR.rawData];
    return bytesField(GRAPH.initializer, [
      ...fields.filter(({ number }) => !dropped.includes(number))
        .map(({ bytes }) => bytes),
      bytesField(TENSOR.rawData, [data]),
    ]);
  }

  /** @throws OnnxError when a tensor inside of a node is in another file */
  checkInside(node: Uint8Array): void {
    for (const field of fieldsOf(node)) {
      if (field.number === NODE_ATTRIBUTE) {
        this.#checkAttribute(insideOf(field));
      }
    }
  }

  #checkAttribute(attribute: Uint8Array): void {
    for (const field of fieldsOf(attribute)) {
      const { number } = field;
      if (number === ATTRIBUTE.tensor || number === ATTRIBUTE.tensors) {
        this.#checkTensor(insideOf(field));
      }
      if (number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs) {
        for (const inner of fieldsOf(insideOf(field))) {
          if (inner.number === GRAPH.node) this.checkInside(insideOf(inner));
          if (inner.number === GRAPH.initializer) {
            this.#checkTensor(insideOf(inner));
          }
        }
      }
    }
  }

  #checkTensor(tensor: Uint8Array): void {
    const fields = fieldsOf(tensor);
    if (integerOf(fields, TENSOR.location) !== EXTERNAL) return;
    this.place.fail(
      `tensor ${quoted(textOf(fields, TENSOR.name))} of an attribute is in ` +
        "another file, which is not put into the new one",
    );
  }
}

/** Names of nodes and values of a graph, and of those inside it. */
function collectNames(graph: RawGraph, names: Set<string>): void {
  for (const [name] of graph.initializers) names.add(name);
  for (const { name } of graph.inputs) names.add(name);
  for (const { name, outputs, attributes } of graph.nodes) {
    for (const one of [name, ...outputs]) names.add(one);
    for (const attribute of attributes.values()) {
      for (const inner of rawGraphsOf(attribute)) collectNames(inner, names);
    }
  }
}
