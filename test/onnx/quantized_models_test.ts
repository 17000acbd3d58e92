/**
 * Models of int8 as operators of cells: the bits of the plain operators, alone and in every batch. Where a pattern of
 * floats becomes one of integers, these are the plain operators' of the integers' form. No data sets are needed.
 */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { type Case, CASES, drawn, type Model } from "./quantized_cases.ts";
import { writtenCase } from "./quantized_files.ts";

const written = (made: Model, of: Case) => readModel(writtenCase(made, of));

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`int8: ${name}`, () => {
    const { inputs, kernels, plain = [], reference = made } = made;
    const requests = Array.from(
      { length: 5 },
      () =>
        new Map(
          Object.entries(inputs).map(([name, spec]) => [name, drawn(spec)]),
        ),
    );
    const { graph } = written(reference, made);
    const wanted = requests.map((request) =>
      runPlainGraph(graph, request).get("y")!
    );
    for (const cells of ["layer", "model"] as const) {
      const model = onnxModel(written(made, made), { cells });
      const operators = model.cells.flatMap(({ operators }) => operators);
      assert.deepEqual(
        operators.flatMap((operator) =>
          operator.op === "Plain" ? [operator.name] : []
        ).sort(),
        [...plain].sort(),
      );
      for (const op of kernels) {
        assert(operators.some((one) => one.op === op), `there is no ${op}`);
      }
      const given = requests.map((request) =>
        Object.fromEntries(
          [...request].map(([name, { data }]) => [name, data as TensorData]),
        )
      );
      const alone = runRequests(model, given);
      alone.forEach(({ y }, i) => {
        assert.deepEqual(y.shape, wanted[i].dims);
        if (operators.some(({ op }) => op === "Gemm")) {
          y.data.forEach((value, at) =>
            assert(
              Math.abs(Number(value) - Number(wanted[i].data[at])) <= 1e-5,
            )
          );
        } else assert.deepEqual([...y.data], [...wanted[i].data]);
      });
      for (const policy of ["cellular", "graph", "merged"]) {
        const batched = runRequests(model, given, {
          policy: POLICIES[policy].build({ batchSizeMax: 3 }),
        });
        assert.deepStrictEqual(batched, alone, `${policy}, cells ${cells}`);
      }
    }
  });
}
