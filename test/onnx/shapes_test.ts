/** Inferred types and shapes against the ONNX project's cases, where they lie beside the checkout. */
import assert from "node:assert/strict";
import type { OnnxGraph } from "../../src/onnx/ir.ts";
import { Place } from "../../src/onnx/place.ts";
import { substituteDim, symbol } from "../../src/onnx/shapes/dim.ts";
import { ShapeInference } from "../../src/onnx/shapes/infer_graph.ts";
import {
  constantValue,
  describeDims,
  type InferredValue,
} from "../../src/onnx/shapes/value.ts";
import type { PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { type DataSet, nodeCases, readNodeCase } from "./node_cases.ts";

const cases = nodeCases();
const PLACE = new Place("m.onnx");

/** Operators whose results have sizes that depend on elements of their data. */
const BY_ELEMENTS = new Set(["NonZero", "Compress", "NonMaxSuppression"]);
/** Operators whose scales may be no fractions, so that sizes are only known when those of the data are. */
const BY_SCALES = new Set(["Resize", "Upsample"]);
/** Operators whose first input is no data. */
const OF_SIZES = new Set(["ConstantOfShape", "Range"]);

/** Sizes of an input by axis. */
function sizeName(input: number, axis: number): string {
  return `i${input}a${axis}`;
}

/** Sizes that a case's inputs have, by their names. */
function sizesOf(inputs: readonly PlainTensor[]): Map<string, number> {
  return new Map(
    inputs.flatMap(({ dims }, i) =>
      dims.map((size, axis) => [sizeName(i, axis), size] as const)
    ),
  );
}

function infer(
  graph: OnnxGraph,
  { inputs, outputs }: DataSet,
  given: (tensor: PlainTensor, i: number) => InferredValue,
  open: ReadonlySet<string>,
): void {
  const tensors = [...inputs.values()];
  const values = new ShapeInference().graph(graph, PLACE, tensors.map(given));
  const sizes = sizesOf(tensors);
  for (const [name, expected] of outputs) {
    const found = values.get(name);
    assert.equal(found?.type, expected.type, name);
    const dims = found?.dims?.map((size) =>
      substituteDim(size, (name) =>
        sizes.get(name))
    ) ?? null;
    const shown = `${name} is ${describeDims(dims)}, expected ${
      describeDims(expected.dims)
    }`;
    assert.equal(dims?.length, expected.dims.length, shown);
    const isOpen = graph.nodes.some(({ op }) => open.has(op));
    dims?.forEach((size, axis) => {
      if (isOpen && typeof size !== "number") return;
      assert.equal(size, expected.dims[axis], shown);
    });
  }
}

for (const [op, own] of Map.groupBy(cases ?? [], ({ op }) => op)) {
  Deno.test(`shapes of ${op} are those of the ONNX project's cases`, () => {
    for (const given of own) {
      const { model: { graph }, dataSets } = readNodeCase(given);
      for (const set of dataSets) {
        // Sizes and axes are inputs of these models, of which the rules need the values.
        infer(graph, set, constantValue, BY_ELEMENTS);
        if (given.ops.some((op) => OF_SIZES.has(op))) continue;
        // The data's sizes as symbols; numbers come out again once those are given.
        infer(
          graph,
          set,
          (tensor, i) =>
            i > 0 ? constantValue(tensor) : {
              type: tensor.type,
              dims: tensor.dims.map((_, axis) => symbol(sizeName(i, axis), 0)),
            },
          BY_ELEMENTS.union(BY_SCALES),
        );
      }
    }
  });
}

if (!cases) {
  Deno.test("shapes of the ONNX project's cases", () =>
    console.log("skipped: no ../shared/data/onnx-node-tests"));
}
