/** Types and shapes of all values of a graph, its nodes taken in their order. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import type { OnnxGraph, OnnxNode, ValueInfo } from "../ir.ts";
import { graphsOf } from "../names.ts";
import { OnnxError, type Place } from "../place.ts";
import { mostOf } from "./arity.ts";
import { NodeView } from "./node_view.ts";
import { shapeRule } from "./registry.ts";
import {
  constantValue,
  dimsOfDeclared,
  type InferredValue,
  UNKNOWN,
} from "./value.ts";

/** What is known of values, by name. */
export type InferredValues = ReadonlyMap<string, InferredValue>;

/**
 * Values of a node whose inputs are all constant; undefined where it is not computed.
 * @param results what its rule says of them
 */
export type Folder = (
  node: OnnxNode,
  inputs: readonly (PlainTensor | undefined)[],
  results: readonly InferredValue[],
  place: Place,
) => readonly PlainTensor[] | undefined;

/** Of nodes: bodies of loops are gone through several times, those inside them more often. */
const NODES_MAX = 2_000_000;

/** Infers graphs. */
export class ShapeInference {
  #left = NODES_MAX;

  /** @param fold computes nodes of constants; none are by default */
  constructor(readonly fold: Folder = () => undefined) {}

  /**
   * What is known of every value of a graph.
   * @param inputs of its inputs, in place of what is declared
   * @param around of the values that a graph inside another reads
   * @throws OnnxError naming the node whose inputs do not fit
   */
  graph(
    graph: OnnxGraph,
    place: Place,
    inputs: readonly InferredValue[] = graph.inputs.map(declaredValue),
    around: InferredValues = new Map(),
  ): InferredValues {
    const values = new Map(
      graph.captured.map((name) => [name, around.get(name) ?? UNKNOWN]),
    );
    graph.inputs.forEach(({ name }, i) => values.set(name, inputs[i]));
    for (const [name, tensor] of graph.initializers) {
      values.set(name, constantValue(tensor));
    }
    for (const node of graph.nodes) {
      const results = this.node(node, values, graph, place);
      node.outputs.forEach((name, i) => {
        if (name !== "") values.set(name, results[i]);
      });
    }
    return values;
  }

  /**
   * What is known of a node's results, one for each.
   * @param values what is known so far
   * @param graph whose declarations stand in where there is no rule
   */
  node(
    node: OnnxNode,
    values: InferredValues,
    graph: Pick<OnnxGraph, "declared" | "outputs">,
    place: Place,
  ): InferredValue[] {
    const at = place.node(node);
    if (--this.#left < 0) at.fail("graphs inside graphs have no end");
    const given = node.inputs.map((name) =>
      name === "" ? undefined : values.get(name) ?? UNKNOWN
    );
    const results = this.#ruled(node, given, values, at);
    const complete = node.outputs.map((name, i) =>
      results[i] ?? declaredAs(name, graph)
    );
    return this.#folded(node, given, complete, at);
  }

  #ruled(
    node: OnnxNode,
    given: readonly (InferredValue | undefined)[],
    values: InferredValues,
    at: Place,
  ): readonly InferredValue[] {
    const rule = shapeRule(node.op, node.domain);
    if (rule === undefined) return [];
    checkArity(node, at);
    const inferInside = (
      graph: OnnxGraph,
      inputs: readonly InferredValue[],
      place: Place,
    ) => {
      const found = this.graph(
        graph,
        place,
        inputs.map((value, i) => mergedWith(value, graph.inputs[i])),
        values,
      );
      return graph.outputs.map(({ name }) => found.get(name) ?? UNKNOWN);
    };
    try {
      return rule(
        new NodeView(node, given, at, inferInside, checkAritiesInside),
      );
    } catch (error) {
      // Arithmetic on sizes does not know where it is.
      if (error instanceof OnnxError && !error.message.startsWith("Cannot")) {
        at.fail(error.message);
      }
      throw error;
    }
  }

  #folded(
    node: OnnxNode,
    given: readonly (InferredValue | undefined)[],
    results: InferredValue[],
    at: Place,
  ): InferredValue[] {
    if (results.every(({ constant }) => constant !== undefined)) return results;
    const isConstant = given.every((value) =>
      value === undefined || value.constant !== undefined
    );
    if (!isConstant) return results;
    const tensors = this.fold(
      node,
      given.map((value) => value?.constant),
      results,
      at,
    );
    return results.map((result, i) => {
      const tensor = tensors?.[i];
      return tensor ? constantValue(tensor) : result;
    });
  }
}

/** @throws OnnxError when a node has more inputs or outputs than its operator, whatever their sizes */
function checkArity(node: OnnxNode, at: Place): void {
  const most = mostOf(node.op);
  for (const what of ["inputs", "outputs"] as const) {
    const { length } = node[what];
    if (length > most[what]) {
      at.fail(`it has ${length} ${what}, ${node.op} has ${most[what]}`);
    }
  }
}

/** Of all nodes of a graph, and of graphs inside of them. */
function checkAritiesInside(graph: OnnxGraph, place: Place): void {
  for (const node of graph.nodes) {
    const at = place.node(node);
    if (shapeRule(node.op, node.domain)) checkArity(node, at);
    for (const [name, attribute] of node.attributes) {
      for (const inner of graphsOf(attribute)) {
        checkAritiesInside(inner, at.in(name));
      }
    }
  }
}

/** As a graph declares a value. */
export function declaredValue({ name, type, dims }: ValueInfo): InferredValue {
  return { type, dims: dimsOfDeclared(name, dims) };
}

function declaredAs(
  name: string,
  { declared, outputs }: Pick<OnnxGraph, "declared" | "outputs">,
): InferredValue {
  const found = declared.get(name) ??
    outputs.find((output) => output.name === name);
  return found === undefined ? UNKNOWN : declaredValue(found);
}

/** Of an inner graph's input, what is given; declared is what that leaves open. */
function mergedWith(given: InferredValue, input: ValueInfo): InferredValue {
  const declared = declaredValue(input);
  return {
    ...given,
    type: given.type ?? declared.type,
    dims: given.dims ?? declared.dims,
  };
}
