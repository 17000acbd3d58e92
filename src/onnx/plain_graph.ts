/**
 * A graph run as it stands, node after node, by the operators in plain TypeScript: the reference of everything that
 * the loader makes of it.
 */
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { NodeError, runGraph } from "../plain/graphs.ts";
import { runPlain } from "../plain/registry.ts";
import type { OnnxGraph } from "./ir.ts";
import { OnnxError } from "./place.ts";

/**
 * Runs a graph.
 * @param inputs by name
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
): Map<string, PlainTensor> {
  try {
    const results = runGraph(graph, inputs, () => undefined, runPlain);
    return new Map(graph.outputs.map(({ name }, i) => [name, results[i]]));
  } catch (error) {
    if (error instanceof NodeError) {
      throw new OnnxError(`Cannot run ${error.message}`, { cause: error });
    }
    throw error;
  }
}
