/**
 * A graph run as it stands, node after node, by the operators in plain TypeScript: the reference of everything that
 * the loader makes of it, and what folds constants.
 */
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { runPlain } from "../plain/registry.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "./ir.ts";
import { OnnxError, quoted } from "./place.ts";

/** Values by name. */
export type PlainValues = (name: string) => PlainTensor | undefined;

/**
 * Runs a graph.
 * @param inputs by name
 * @param outer values of the graphs around it, by name; none for a model's graph
 * @returns outputs by name, in the graph's order
 * @throws OnnxError naming the node when it cannot be run; TypeError when an input is missing
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { plainTensor, readModel, runPlainGraph } from "@shoal/core/onnx";
 *
 * // Usually read from a file: y = Relu(x), with x of any number of rows of 2.
 * const file = atob(
 *   "CAkSBmEgdGVzdDpDChIKAXgSAXkaBHJlbHUiBFJlbHUSAWdaFAoBeBIPCg0IARIJCgMSAW4K" +
 *     "AggCYhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQFA==",
 * );
 * const { graph } = readModel(Uint8Array.from(file, (c) => c.charCodeAt(0)));
 * const x = plainTensor("float32", [1, 2], Float32Array.of(-1, 2));
 * const results = runPlainGraph(graph, new Map([["x", x]]));
 * assert.deepEqual(results.get("y")?.data, Float32Array.of(0, 2));
 * ```
 */
export function runPlainGraph(
  graph: OnnxGraph,
  inputs: ReadonlyMap<string, PlainTensor>,
  outer: PlainValues = () => undefined,
): Map<string, PlainTensor> {
  const values = new Map(graph.initializers);
  for (const { name } of graph.inputs) {
    const given = inputs.get(name);
    if (!given) throw new TypeError(`Input ${quoted(name)} is missing`);
    values.set(name, given);
  }
  const valueOf: PlainValues = (name) => values.get(name) ?? outer(name);
  for (const node of graph.nodes) {
    const results = runPlainNode(
      node,
      node.inputs.map((name) => name === "" ? undefined : valueOf(name)),
      valueOf,
    );
    node.outputs.forEach((name, i) => {
      if (name === "") return;
      if (!results[i]) fail(node, `it has no output ${i}`);
      values.set(name, results[i]);
    });
  }
  return new Map(graph.outputs.map(({ name }) => {
    const value = valueOf(name);
    if (!value) throw new OnnxError(`There is no value ${quoted(name)}`);
    return [name, value];
  }));
}

/**
 * Runs a node.
 * @param inputs in order; undefined for one that is left out
 * @param valueOf what its graphs see
 * @throws OnnxError naming the node
 */
export function runPlainNode(
  node: OnnxNode,
  inputs: readonly (PlainTensor | undefined)[],
  valueOf: PlainValues = () => undefined,
): PlainTensor[] {
  if (node.domain !== "") fail(node, `its domain is ${quoted(node.domain)}`);
  const bodyOf = (attribute: string): OnnxGraph =>
    attributeOf(node, attribute, "graph") ??
      fail(node, `attribute ${attribute} is no graph`);
  try {
    return runPlain(node.op, inputs, node.attributes, {
      opset: node.version,
      outputs: node.outputs.length,
      runGraph: (attribute, given) => {
        const body = bodyOf(attribute);
        const named = body.inputs.map(({ name }, i) =>
          [name, given[i]] as const
        );
        return [...runPlainGraph(body, new Map(named), valueOf).values()];
      },
      graphOutput: (attribute, output) => {
        const { type, dims } = bodyOf(attribute).outputs[output] ??
          fail(node, `attribute ${attribute} has no output ${output}`);
        return {
          type: type ?? "float32",
          dims: (dims ?? []).map((size) =>
            typeof size === "number" ? size : null
          ),
        };
      },
    });
  } catch (error) {
    if (error instanceof OnnxError) throw error;
    if (error instanceof RangeError || error instanceof TypeError) {
      return fail(node, error.message);
    }
    throw error;
  }
}

function fail({ name }: OnnxNode, why: string): never {
  throw new OnnxError(`Cannot run node ${quoted(name)}: ${why}`);
}
