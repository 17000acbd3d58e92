/** A file loaded as far as a model can be without being run, and run where it is small. */
import assert from "node:assert/strict";
import type { OnnxGraph } from "../../src/onnx/ir.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { symbolsOf } from "../../src/onnx/shapes/dim.ts";
import type { InferredValues } from "../../src/onnx/shapes/infer_graph.ts";
import { sizesAt } from "../../src/onnx/shapes/value.ts";
import { simplify } from "../../src/onnx/simplify/simplify.ts";
import { type PlainTensor, zerosOf } from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { cutAnyWay } from "./cut_any_way.ts";
import { EXTERNAL_FILE } from "./seed_models.ts";

/** What the sizes are that inputs leave open. */
const OPEN_SIZE = 2;

/** Elements of a value, and of all values, in models that are run. */
const ELEMENTS_MAX = 5_000;

/**
 * Loads a file.
 * @returns how far it came
 * @throws AssertionError when it fails in another way than by an error that says where
 */
export function loaded(file: Uint8Array): "run" | "loaded" | "refused" {
  try {
    const model = readModel(file, {
      label: "m.onnx",
      external: (location) =>
        location === EXTERNAL_FILE.name ? EXTERNAL_FILE.bytes : undefined,
    });
    const { model: { graph }, values } = simplify(model);
    for (const { name } of graph.outputs) assert(values.has(name), name);
    const isRun = isAsInferred(graph, values);
    cutAnyWay(model, isRun);
    return isRun ? "run" : "loaded";
  } catch (error) {
    if (!(error instanceof OnnxError)) throw error;
    assert.match(error.message, /^Cannot load m\.onnx: ./);
    return "refused";
  }
}

/** Whether a graph was run; all values were of the shape inferred then. */
function isAsInferred(graph: OnnxGraph, values: InferredValues): boolean {
  const sizes = new Map<string, number>();
  for (const { name } of graph.inputs) {
    for (const size of values.get(name)?.dims ?? []) {
      for (const symbol of symbolsOf(size)) sizes.set(symbol, OPEN_SIZE);
    }
  }
  const isSmall = graph.nodes.every(({ op, domain, outputs }) =>
    // Loops may go on for as long as they like.
    domain === "" && op !== "Loop" && op !== "Scan" &&
    outputs.every((name) => name === "" || isSmallValue(name))
  ) && graph.inputs.every(({ name }) => isSmallValue(name));
  function isSmallValue(name: string): boolean {
    const value = values.get(name);
    const found = value?.type && sizesAt(value, sizes);
    return !!found && found.every((size) => size >= 0) &&
      elementCount(found) <= ELEMENTS_MAX;
  }
  if (!isSmall) return hasLoop(graph);
  const inputs = new Map(graph.inputs.map(({ name }) => {
    const value = values.get(name)!;
    return [name, zerosOf(value.type!, sizesAt(value, sizes)!)] as const;
  }));
  let results: Map<string, PlainTensor>;
  try {
    results = runPlainGraph(
      {
        ...graph,
        outputs: graph.nodes.flatMap(({ outputs }) =>
          outputs.filter((name) => name !== "")
        ).map((name) => ({ name, type: null, dims: null })),
      },
      inputs,
    );
  } catch (error) {
    // Elements that do not fit, such as indices, are not the loader's.
    assert(error instanceof OnnxError, `${error}`);
    return false;
  }
  for (const [name, { type, dims }] of results) {
    const value = values.get(name)!;
    assert.equal(value.type, type, `type of ${name}`);
    assert.deepEqual(sizesAt(value, sizes), dims, `dims of ${name}`);
  }
  return true;
}

/** A seed with a loop counts as run: it is as far as it goes. */
function hasLoop({ nodes }: OnnxGraph): boolean {
  return nodes.some(({ op }) => op === "Loop");
}
