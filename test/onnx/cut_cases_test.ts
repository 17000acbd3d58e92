/** The ONNX project's operator cases, each a model cut into cells, where sizes are known before values are. */
import assert from "node:assert/strict";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import type { PlainTensor } from "../../src/tensor/plain_tensor.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { endings } from "../run_requests.ts";
import {
  difference,
  type NodeCase,
  nodeCases,
  readNodeCase,
} from "./node_cases.ts";

/** Why a case is no model of cells: sentences that its refusal has. */
const REFUSALS = [
  /depends on values, not on sizes alone/,
  /requests bring and cells make/,
  /it has no elements/,
];

type Outcome = "cells" | "plain" | "refused";

/** Cases of an operator that kernels alone compute at least: all inputs brought, and all but the first one constant. */
const LEAST: Readonly<Record<string, readonly [number, number]>> = {
  Conv: [1, 5],
  ConvTranspose: [0, 4],
  MaxPool: [7, 7],
  AveragePool: [8, 8],
  GlobalMaxPool: [1, 1],
  GlobalAveragePool: [1, 1],
  MatMul: [2, 2],
  Gemm: [0, 6],
  Softmax: [5, 5],
  ReduceSum: [1, 4],
  ReduceMean: [1, 4],
  ReduceMax: [1, 5],
  Add: [2, 2],
  Sub: [2, 2],
  Mul: [2, 2],
  Div: [2, 2],
  Max: [2, 2],
  Min: [2, 2],
  Clip: [0, 3],
  Relu: [2, 2],
  LeakyRelu: [3, 3],
  Sigmoid: [2, 2],
  HardSigmoid: [2, 2],
  HardSwish: [1, 1],
  Tanh: [2, 2],
  Exp: [2, 2],
  Erf: [1, 1],
  Gelu: [2, 2],
  Neg: [2, 2],
  Abs: [1, 1],
  Sqrt: [2, 2],
  Concat: [7, 7],
  Split: [6, 9],
  Slice: [1, 3],
  Transpose: [5, 5],
  Expand: [0, 3],
  Pad: [1, 4],
};

/** The graph with all inputs but the first one as constants, as files have weights. */
function withWeights(
  file: OnnxModel,
  inputs: ReadonlyMap<string, PlainTensor>,
): OnnxModel {
  const { graph } = file;
  const [first, ...rest] = graph.inputs;
  const initializers = new Map(graph.initializers);
  for (const { name } of rest) initializers.set(name, inputs.get(name)!);
  return { ...file, graph: { ...graph, inputs: [first], initializers } };
}

/** @throws Error when the case does not give its outputs */
function outcomeOf(given: NodeCase, hasWeights: boolean): Outcome {
  const { model: asRead, dataSets } = readNodeCase(given);
  let outcome: Outcome = "cells";
  for (const { inputs, outputs } of dataSets) {
    const file = hasWeights && asRead.graph.inputs.length > 0
      ? withWeights(asRead, inputs)
      : asRead;
    const brought = file.graph.inputs.map(({ name }) =>
      [name, inputs.get(name)!] as const
    );
    const shapes = Object.fromEntries(
      brought.map(([name, { dims }]) => [name, dims]),
    );
    let model;
    try {
      model = onnxModel(file, { name: "case", shapes });
    } catch (error) {
      const isRefusal = error instanceof OnnxError &&
        REFUSALS.some((why) => why.test(error.message));
      if (isRefusal) return "refused";
      throw error;
    }
    const isPlain = model.cells.some(({ operators }) =>
      operators.some(({ op }) => op === "Plain")
    );
    if (isPlain) outcome = "plain";
    const input = Object.fromEntries(
      brought.map(([name, { data }]) => [name, data as TensorData]),
    );
    const [result] = endings(model, [input], { slotBytes: 2 ** 24 });
    if (result instanceof Error) throw result;
    for (const [name, wanted] of outputs) {
      const { shape, data } = result[name];
      const got = { type: wanted.type, dims: shape, data } as PlainTensor;
      const wrong = difference(got, wanted, 1e-3, 1e-6);
      if (wrong) throw new Error(`${name} ${wrong}`);
    }
  }
  return outcome;
}

const cases = nodeCases();

for (const hasWeights of [false, true]) {
  const what = hasWeights ? "the rest constant" : "all inputs brought";
  Deno.test(`operator cases, cut into cells, give their outputs: ${what}`, () => {
    if (!cases) {
      return console.log("skipped: no ../shared/data/onnx-node-tests");
    }
    const counts: Record<Outcome, number> = { cells: 0, plain: 0, refused: 0 };
    const inCells = new Map<string, number>();
    const failed: string[] = [];
    for (const given of cases) {
      try {
        const outcome = outcomeOf(given, hasWeights);
        counts[outcome]++;
        if (outcome !== "cells") continue;
        inCells.set(given.op, (inCells.get(given.op) ?? 0) + 1);
      } catch (error) {
        failed.push(`${given.name}: ${(error as Error).message}`);
      }
    }
    console.log(counts);
    assert.deepEqual(failed, []);
    for (const [op, least] of Object.entries(LEAST)) {
      const count = inCells.get(op) ?? 0;
      const wanted = least[hasWeights ? 1 : 0];
      assert(count >= wanted, `${op}: ${count} cases, expected ${wanted}`);
    }
  });
}
