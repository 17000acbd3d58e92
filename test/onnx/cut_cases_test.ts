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
    const failed: string[] = [];
    for (const given of cases) {
      try {
        counts[outcomeOf(given, hasWeights)]++;
      } catch (error) {
        failed.push(`${given.name}: ${(error as Error).message}`);
      }
    }
    console.log(counts);
    assert.deepEqual(failed, []);
  });
}
