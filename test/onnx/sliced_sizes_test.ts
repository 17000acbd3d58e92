/** What is left of an axis that is sliced: inferred from numbers or symbols, it is what plain TypeScript takes. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { onnxModel } from "../../src/onnx/model.ts";
import { Place } from "../../src/onnx/place.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { type Dim, substituteDim, symbol } from "../../src/onnx/shapes/dim.ts";
import { ShapeInference } from "../../src/onnx/shapes/infer_graph.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { node, writeModel } from "./write_model.ts";

const NAMES = ["starts", "ends", "axes", "steps"];

/** A vector of `size` numbers cut. */
function sliced(size: number, start: number, end: number, step: number) {
  const values = [start, end, 0, step];
  return readModel(writeModel({
    graph: {
      inputs: [{ name: "x", dims: [size] }],
      outputs: [{ name: "y" }],
      initializers: Object.fromEntries(
        NAMES.map((name, i) => [name, plainOf("int64", [1], [values[i]])]),
      ),
      nodes: [node("Slice", ["x", ...NAMES], ["y"])],
    },
  }));
}

const vector = (size: number) =>
  plainOf("float32", [size], Array.from({ length: size }, (_, i) => i));

const bound = fc.oneof(
  fc.integer({ min: -9, max: 9 }),
  fc.constantFrom(-(2 ** 53), 2 ** 53),
);

Deno.test("sizes of slices are inferred as they are taken", () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 6 }),
      bound,
      bound,
      fc.constantFrom(-3, -2, -1, 1, 2, 3),
      (size, start, end, step) => {
        const { graph } = sliced(size, start, end, step);
        const y = runPlainGraph(graph, new Map([["x", vector(size)]])).get("y");
        const inferred = (size: Dim) =>
          new ShapeInference().graph(graph, new Place("a test"), [
            { type: "float32", dims: [size] },
          ]).get("y")?.dims;
        assert.deepEqual(inferred(size), y?.dims);
        // A size that is open is at least 1.
        if (size === 0) return;
        const [open] = inferred(symbol("n")) ?? [];
        if (open === undefined) return;
        assert.deepEqual([substituteDim(open, () => size)], y?.dims);
      },
    ),
    { numRuns: propertyRuns(400) },
  );
});

Deno.test("a slice backwards from before the axis has its first element, as ONNX Runtime has it", () => {
  const model = onnxModel(sliced(5, -10, -100, -1));
  const [{ y }] = runRequests(model, [{ x: vector(5).data as Float32Array }]);
  assert.deepEqual(y.data, Float32Array.of(0));
});

Deno.test("an axis without elements has none backwards either", () => {
  const { graph } = sliced(0, -1, -100, -1);
  const { dims } = runPlainGraph(graph, new Map([["x", vector(0)]])).get("y")!;
  assert.deepEqual(dims, [0]);
});
