/** Integers that are the same at every position of a free axis: as many as a request has, beside the plain graph. */
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { near } from "./sequence_checks.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

/** What is made of c, [n, 1, 2]. */
const MADE: readonly WrittenNode[] = [
  node("Identity", ["c"], ["y"]),
  node("Reshape", ["c", "shape"], ["y"]),
  node("Flatten", ["c"], ["y"], { axis: 1 }),
  node("Squeeze", ["c", "one"], ["y"]),
  node("Unsqueeze", ["c", "one"], ["y"]),
  node("Transpose", ["c"], ["y"], { perm: [0, 2, 1] }),
  node("Split", ["c", "halves"], ["y", "z"], { axis: 2 }),
];

for (const made of MADE) {
  for (const type of ["int64", "int32"] as const) {
    Deno.test(`positions of ${type} that are all the same: ${made.op}`, () => {
      const file = readModel(writeModel({
        graph: {
          inputs: [{ name: "x", dims: ["n", 1, 2] }],
          outputs: made.outputs.map((name) => ({ name })),
          initializers: {
            shape: plainOf("int64", [3], [-1, 2, 1]),
            one: plainOf("int64", [1], [1]),
            halves: plainOf("int64", [2], [1, 1]),
          },
          nodes: [
            node("Shape", ["x"], ["sizes"]),
            node("ConstantOfShape", ["sizes"], ["c"], {
              value: { tensor: plainOf(type, [1], [3]) },
            }),
            made,
          ],
        },
      }));
      const model = onnxModel(file, { sizesMax: { n: 4 } });
      for (const n of [1, 3]) {
        const x = plainOf("float32", [n, 1, 2], Array(2 * n).keys());
        near(model, file, new Map([["x", x]]), `${n} positions`);
      }
    });
  }
}
