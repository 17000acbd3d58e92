/** Sizes of what is resized by scales: products of f32, as ONNX Runtime (1.30) has them, here and in plain TypeScript. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { drawn } from "./cell_cases.ts";
import { node, writeModel } from "./write_model.ts";

/** Of ONNX Runtime; in f64 each is one less, as the f32 next to the scale is below it. */
const SIZES = [
  [10, 1.3, 13],
  [10, 0.7, 7],
  [20, 1.4, 28],
  [30, 0.9, 27],
  [5, 1.8, 9],
] as const;

for (const opset of [9, 10, 13]) {
  Deno.test(`sizes by scales are products of f32, by operator set ${opset}`, () => {
    for (const [size, scale, expected] of SIZES) {
      const file = readModel(writeModel({
        graph: {
          inputs: [{ name: "x", dims: [1, 1, size] }],
          outputs: [{ name: "y" }],
          initializers: { scales: plainOf("float32", [3], [1, 1, scale]) },
          nodes: [
            opset < 10
              ? node("Upsample", ["x", "scales"], ["y"])
              : node("Resize", ["x", ...opset > 10 ? [""] : [], "scales"], [
                "y",
              ]),
          ],
        },
        opsets: { "": opset },
      }));
      const x = drawn(1, 1, size);
      const plain = runPlainGraph(file.graph, new Map([["x", x]])).get("y")!;
      assert.deepEqual(plain.dims, [1, 1, expected]);
      const model = onnxModel(file);
      const [{ y }] = runRequests(model, [{ x: x.data as Float32Array }]);
      assert.deepEqual(y.shape, [1, 1, expected]);
      assert.deepEqual(y.data, plain.data);
    }
  });
}
