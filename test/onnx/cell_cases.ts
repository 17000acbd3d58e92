/**
 * Small models for tests, beside the plain operators: the same bits alone and in batches, whole and cut. No data sets
 * are needed.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { type ModelOptions, onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { writeModel, type WrittenNode } from "./write_model.ts";

const prng = new Prng(11);

/** Numbers from -1 to 1. */
export const drawn = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from(
      { length: elementCount(dims) },
      () => 2 * prng.float() - 1,
    ),
  );
/** Numbers from 0.5 to 1.5. */
export const positive = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => 0.5 + prng.float()),
  );
export const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);

/** A model; the last node's result, y, is its own. */
export interface Case {
  inputs: Record<string, readonly (number | string)[]>;
  nodes: readonly WrittenNode[];
  weights?: Record<string, PlainTensor>;
  /** Operators that it has when it is one cell, but for those that cost nothing. */
  operators?: string[];
  /** Nodes that run in plain TypeScript; default none. */
  plain?: number;
  opset?: number;
  /** Of the largest number, or of 1; default 2e-6. */
  tolerance?: number;
  options?: ModelOptions;
}

const SHARED = { axes: whole(-1), axis: plainOf("int64", [], [1]) };

function drawnInputs(
  inputs: Case["inputs"],
): Map<string, PlainTensor> {
  return new Map(
    Object.entries(inputs).map(([name, dims]) => [
      name,
      drawn(...dims.map((size) => typeof size === "number" ? size : 1)),
    ]),
  );
}

/** Runs a model whole, in layers and between. */
export function checkCase(made: Case): void {
  const { inputs, nodes, weights = {}, plain = 0, tolerance = 2e-6, options } =
    made;
  const used = new Set(nodes.flatMap(({ inputs }) => inputs));
  const constants = Object.entries({ ...SHARED, ...weights });
  const file = readModel(writeModel({
    graph: {
      inputs: Object.entries(inputs).map(([name, dims]) => ({ name, dims })),
      outputs: [{ name: "y" }],
      initializers: Object.fromEntries(
        constants.filter(([name]) => used.has(name)),
      ),
      nodes,
    },
    opsets: { "": made.opset ?? 20 },
  }));
  const requests = Array.from({ length: 5 }, () => drawnInputs(inputs));
  const wanted = requests.map((request) =>
    runPlainGraph(file.graph, request).get("y")!
  );
  for (const cells of ["layer", "model", 100] as const) {
    const model = onnxModel(file, { cells, ...options });
    const operators = model.cells.flatMap(({ operators }) => operators);
    if (made.operators && cells === "model") {
      const free = ["Reshape", "Constant"];
      assert.deepEqual(
        operators.map(({ op }) => op).filter((op) => !free.includes(op)),
        made.operators,
      );
    }
    assert.equal(
      operators.filter(({ op }) => op === "Plain").length,
      plain,
      model.notes.join("\n"),
    );
    const given = requests.map((request) =>
      Object.fromEntries(
        [...request].map(([name, { data }]) => [name, data as TensorData]),
      )
    );
    const alone = runRequests(model, given);
    alone.forEach(({ y }, i) => {
      assert.deepEqual(y.shape, wanted[i].dims);
      const data = wanted[i].data as Float32Array;
      const most = data.reduce((a, b) => Math.max(a, Math.abs(b)), 1);
      data.forEach((value, at) =>
        assert(
          Math.abs(Number(y.data[at]) - value) <= tolerance * most,
          `request ${i}: y[${at}] is ${y.data[at]}, expected ${value}`,
        )
      );
    });
    for (const policy of ["cellular", "graph", "merged"]) {
      const batched = runRequests(model, given, {
        policy: POLICIES[policy].build({ batchSizeMax: 3 }),
      });
      assert.deepStrictEqual(batched, alone, `${policy}, cells ${cells}`);
    }
  }
}
