/**
 * Models of int8 as operators of cells: the bits of the plain operators, alone and in every batch. Where a pattern of
 * floats becomes one of integers, these are the plain operators' of the integers' form. No data sets are needed.
 */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf, scalarOf } from "../../src/tensor/plain_tensor.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { type Case, CASES, drawn, type Model } from "./quantized_cases.ts";
import { writtenCase } from "./quantized_files.ts";
import { node, writeModel } from "./write_model.ts";

const isGemm = ({ op }: { op: string }) => op === "Gemm";

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

for (const [name, made] of Object.entries(CASES)) {
  const specs = Object.entries(made.inputs);
  if (specs.some(([, { type }]) => type !== "float32")) continue;
  Deno.test(`int8: ${name}, of NaN and infinities`, () => {
    const model = onnxModel(written(made, made));
    // Sums of floats have other roundings.
    if (model.cells.some(({ operators }) => operators.some(isGemm))) return;
    const { graph } = written(made.reference ?? made, made);
    const requests = [NaN, Infinity, -Infinity].map((odd) =>
      new Map(specs.map(([name, spec]) => {
        const x = drawn(spec);
        x.data[x.data.length >> 1] = odd;
        return [name, x];
      }))
    );
    const wanted = requests.map((
      request,
    ) => [...runPlainGraph(graph, request).get("y")!.data]);
    const got = runRequests(
      model,
      requests.map((request) =>
        Object.fromEntries(
          [...request].map(([name, { data }]) => [name, data as TensorData]),
        )
      ),
    );
    assert.deepEqual(got.map(({ y }) => [...y.data]), wanted);
  });
}

Deno.test("a Relu between quantised values is left out where bytes end at 0 alone", () => {
  for (const { type, zero, isLeftOut } of RELUS) {
    const file = readModel(writeModel({
      graph: {
        inputs: [{ name: "x", dims: ["n", 2] }],
        outputs: [{ name: "y" }],
        initializers: {
          one: scalarOf("float32", 1),
          zero: scalarOf(type, zero),
          none: scalarOf("int8", 0),
          bytes: plainOf("int8", [2, 2], [1, 0, 0, -1]),
          middle: scalarOf("uint8", 100),
        },
        nodes: [
          node("QuantizeLinear", ["x", "one", "middle"], ["xq"]),
          node("DequantizeLinear", ["xq", "one", "middle"], ["xf"]),
          node("DequantizeLinear", ["bytes", "one", "none"], ["w"]),
          node("MatMul", ["xf", "w"], ["product"]),
          node("Relu", ["product"], ["positive"]),
          node("QuantizeLinear", ["positive", "one", "zero"], ["q"]),
          node("DequantizeLinear", ["q", "one", "zero"], ["y"]),
        ],
      },
    }));
    const model = onnxModel(file);
    const [{ y }] = runRequests(model, [{ x: Float32Array.of(-3, -5) }]);
    assert.deepEqual([...y.data], [0, 5], `${type}, zero point ${zero}`);
    const hasRelu = model.cells.some(({ operators }) =>
      operators.some(({ op }) => op === "Relu")
    );
    assert.equal(hasRelu, !isLeftOut, `${type}, zero point ${zero}`);
  }
});

/** Zero points; of a byte that ends below 0 Relu takes the rest. */
const RELUS = [
  { type: "uint8", zero: 0, isLeftOut: true },
  { type: "uint8", zero: 100, isLeftOut: false },
  { type: "int8", zero: -128, isLeftOut: true },
  { type: "int8", zero: 0, isLeftOut: false },
] as const;
