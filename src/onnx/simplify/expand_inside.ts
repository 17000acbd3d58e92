/**
 * Operators of other domains in graphs inside nodes, written as ONNX's own: what ONNX Runtime has optimised has them in
 * branches of an `If`, too, which the plain operators run where they are not computed in front of it.
 */
import { plainOperator } from "../../plain/registry.ts";
import { Expansion } from "../contrib/expansion.ts";
import { expansionOf } from "../contrib/registry.ts";
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../ir.ts";
import { allReadNames, graphsOf } from "../names.ts";
import { OnnxError, type Place } from "../place.ts";
import type { InferredValues, ShapeInference } from "../shapes/infer_graph.ts";
import { constantValue, type InferredValue, UNKNOWN } from "../shapes/value.ts";

/**
 * A node whose graphs have nothing but ONNX's own, as far as that is known of the sizes in them.
 * @param around of the values that its graphs read
 */
export function expandInside(
  node: OnnxNode,
  around: InferredValues,
  inference: ShapeInference,
  place: Place,
): OnnxNode {
  if (![...node.attributes.values()].some(hasOthers)) return node;
  const at = place.node(node);
  const expanded = (graph: OnnxGraph) =>
    expandedGraph(graph, around, inference, at);
  const attributes = new Map(
    Array.from(node.attributes, ([name, attribute]) =>
      [
        name,
        attribute.kind === "graph"
          ? { kind: "graph" as const, value: expanded(attribute.value) }
          : attribute,
      ] as const),
  );
  return { ...node, attributes };
}

/** Whether graphs of an attribute have operators that are written as others of ONNX's own. */
function hasOthers(attribute: OnnxAttribute): boolean {
  return graphsOf(attribute).some(({ nodes }) =>
    nodes.some((node) =>
      isOther(node) || [...node.attributes.values()].some(hasOthers)
    )
  );
}

/** Whether a node is written as others, and runs as nothing else. */
function isOther(node: OnnxNode): boolean {
  const { op, domain, version } = node;
  const isOwn = domain === "" && plainOperator(op, version) !== undefined;
  return !isOwn && expansionOf(node) !== undefined;
}

function expandedGraph(
  graph: OnnxGraph,
  around: InferredValues,
  inference: ShapeInference,
  place: Place,
): OnnxGraph {
  const values = new Map<string, InferredValue>(around);
  // Those of a loop's round may have other sizes than the first one's.
  for (const { name, type } of graph.inputs) {
    values.set(name, { ...UNKNOWN, type });
  }
  const initializers = new Map(graph.initializers);
  for (const [name, tensor] of initializers) {
    values.set(name, constantValue(tensor));
  }
  const read = allReadNames(graph);
  const nodes: OnnxNode[] = [];
  const take = (given: OnnxNode) => {
    const node = expandInside(given, values, inference, place);
    nodes.push(node);
    const results = orNothing(() => inference.node(node, values, graph, place));
    node.outputs.forEach((name, i) => {
      if (name !== "") values.set(name, results?.[i] ?? UNKNOWN);
    });
  };
  for (const node of graph.nodes) {
    const expansion = isOther(node)
      ? orNothing(() => expansionFor(node, values, read, place))
      : undefined;
    // Those that hand on a sequence stay, and are refused by name.
    if (expansion === undefined || expansion.nodes.length === 0) {
      take(node);
      continue;
    }
    for (const [name, tensor] of expansion.constants) {
      initializers.set(name, tensor);
      values.set(name, constantValue(tensor));
    }
    expansion.nodes.forEach(take);
  }
  return { ...graph, initializers, nodes };
}

/** What a node of another domain stands for. @throws OnnxError where too little is known of its operands */
function expansionFor(
  node: OnnxNode,
  values: InferredValues,
  read: ReadonlySet<string>,
  place: Place,
): Expansion {
  const expansion = new Expansion(
    node,
    (name) => values.get(name),
    (name) => values.has(name),
    (name) => read.has(name),
    place.node(node),
  );
  expansionOf(node)!(expansion);
  return expansion;
}

/** Undefined where nodes do not fit: only a request that takes them needs to hear why. */
function orNothing<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    const isTheirs = error instanceof OnnxError ||
      error instanceof RangeError || error instanceof TypeError;
    if (!isTheirs) throw error;
    return undefined;
  }
}
