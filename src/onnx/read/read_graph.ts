/** `GraphProto` and `NodeProto` of onnx.proto. */
import { quoted } from "../place.ts";
import { NESTING_MAX, type ReadContext } from "./context.ts";
import type { Message } from "./message.ts";
import type { RawAttribute, RawGraph, RawNode } from "./raw_graph.ts";
import { readAttribute } from "./read_attribute.ts";
import { readTensor } from "./read_tensor.ts";
import { readValueInfo } from "./read_value_info.ts";

const GRAPH = {
  node: 1,
  name: 2,
  initializer: 5,
  input: 11,
  output: 12,
  valueInfo: 13,
  sparseInitializer: 15,
};

const NODE = {
  input: 1,
  output: 2,
  name: 3,
  opType: 4,
  attribute: 5,
  domain: 7,
  overload: 8,
};

const TENSOR_NAME = 8;

/** ONNX's own domain has two names. */
export function domainOf(text: string): string {
  return text === "ai.onnx" ? "" : text;
}

/**
 * Reads a graph and the graphs that are attributes of its nodes.
 * @param depth graphs around it
 * @throws OnnxError naming node and attribute
 */
export function readGraph(
  message: Message,
  context: ReadContext,
  depth = 0,
): RawGraph {
  const { place } = message;
  if (depth > NESTING_MAX) {
    place.fail(`graphs are nested deeper than ${NESTING_MAX}`);
  }
  if (message.has(GRAPH.sparseInitializer)) {
    place.fail("it has sparse initializers, which are not read");
  }
  const values = (
    field: number,
    what: "input" | "output" | "inner output" | "value",
  ) => message.messages(field, (value) => readValueInfo(value, what, context));
  return {
    name: message.text(GRAPH.name),
    inputs: values(GRAPH.input, "input"),
    outputs: values(GRAPH.output, depth === 0 ? "output" : "inner output"),
    declared: values(GRAPH.valueInfo, "value"),
    initializers: message.messages(GRAPH.initializer, (tensor) => {
      const name = tensor.text(TENSOR_NAME);
      const initializer = tensor.at(place.in(`initializer ${quoted(name)}`));
      return [name, readTensor(initializer, name, context)] as const;
    }),
    nodes: message.messages(
      GRAPH.node,
      (node) => readNode(node, context, depth),
    ),
  };
}

/** Reads a node; `message` has the place of what it is in. */
export function readNode(
  message: Message,
  context: ReadContext,
  depth = 0,
): RawNode {
  const op = message.text(NODE.opType);
  const outputs = message.texts(NODE.output);
  const name = message.text(NODE.name);
  const place = message.place.node({ name, op, outputs });
  if (op === "") place.fail("it names no operator");
  const attributes = new Map<string, RawAttribute>();
  message.messages(NODE.attribute, (part) => {
    const [key, attribute] = readAttribute(
      part.at(place),
      context,
      (graph) => readGraph(graph, context, depth + 1),
    );
    if (attributes.has(key)) place.fail(`it has two attributes ${quoted(key)}`);
    attributes.set(key, attribute);
  });
  return {
    name,
    op,
    domain: domainOf(message.text(NODE.domain)),
    overload: message.text(NODE.overload),
    inputs: message.texts(NODE.input),
    outputs,
    attributes,
  };
}
