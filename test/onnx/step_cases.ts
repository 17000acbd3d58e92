/**
 * Models of steps for tests: beside the plain operators, the same bits alone and in mixed batches under every policy.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { type OnnxCellModel, onnxModel } from "../../src/onnx/model.ts";
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

export const SEED = 23;
const prng = new Prng(SEED);

export const drawn = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from(
      { length: elementCount(dims) },
      () => 2 * prng.float() - 1,
    ),
  );
export const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);

/** A model of steps. */
export interface Case {
  inputs: Record<string, readonly number[]>;
  nodes: readonly WrittenNode[];
  weights: Record<string, PlainTensor>;
  outputs: readonly string[];
  /** All cells in their order: "step", or "part" of what is between. */
  cells: readonly ("step" | "part")[];
  /** Operators in plain TypeScript; default none. */
  plain?: readonly string[];
}

/** Every policy, with what a batch of several requests takes. */
export const BATCHING: Readonly<Record<string, Record<string, unknown>>> = {
  serial: {},
  graph: { batchSizeMax: 3 },
  bucketed: { batchSizeMax: 3 },
  merged: { batchSizeMax: 3 },
  cellular: { batchSizeMax: 6 },
  late: { batchSizeMax: 5 },
  lazy: { batchSizeMax: 4, slaNs: 1e9 },
  oracle: { batchSizeMax: 4, slaNs: 1e9 },
  dvabatch: { batchSizeMax: 4, stages: 2 },
  "n-ebird": { maxInf: 3 },
  "e-ebird": { maxInf: 4 },
  "token-budget": { batchSizeMax: 3 },
  "length-sorted": { batchSizeMax: 3 },
  "shortest-first": { batchSizeMax: 3 },
  aimd: { increase: 2, batchSizeMax: 4 },
  "earliest-deadline": { batchSizeMax: 3 },
  deferred: { batchSizeMax: 3 },
  iteration: { batchSizeMax: 4 },
  auto: { batchSizeMax: 4 },
};

/** Its file, read. */
export function load({ inputs, nodes, weights, outputs }: Case) {
  return readModel(writeModel({
    graph: {
      inputs: Object.entries(inputs).map(([name, dims]) => ({ name, dims })),
      outputs: outputs.map((name) => ({ name })),
      initializers: weights,
      nodes,
    },
    opsets: { "": 20 },
  }));
}

/** Requests of drawn numbers. */
export const requestsTo = ({ inputs }: Case, count: number) =>
  Array.from(
    { length: count },
    () =>
      new Map(
        Object.entries(inputs).map(([name, dims]) => [name, drawn(...dims)]),
      ),
  );

/** A request as a model takes it. */
export const given = (request: Map<string, PlainTensor>) =>
  Object.fromEntries(
    [...request].map(([name, { data }]) => [name, data as TensorData]),
  );

/** Runs a model of steps in every way. @returns it */
export function checkCase(made: Case): OnnxCellModel {
  const file = load(made);
  const requests = requestsTo(made, 6);
  const model = onnxModel(file, { cells: "layer" });
  assert.deepEqual(
    model.cells.map(({ recurrent }) => recurrent ? "step" : "part"),
    made.cells,
    model.cells.map(({ name }) => name).join("\n"),
  );
  assert.deepEqual(
    model.notes.map((note) => note.split(" ")[0]),
    made.plain ?? [],
  );
  const alone = requests.map((request) =>
    runRequests(model, [given(request)])[0]
  );
  alone.forEach((result, i) => {
    const wanted = runPlainGraph(file.graph, requests[i]);
    for (const [output, { dims, data }] of wanted) {
      const found = result[output];
      assert.deepEqual(found.shape, dims, `seed ${SEED}: ${output}`);
      (data as Float32Array).forEach((value, at) =>
        assert(
          Math.abs(Number(found.data[at]) - value) <= 4e-6,
          `seed ${SEED}, request ${i}: ${output}[${at}] is ${
            found.data[at]
          }, expected ${value}`,
        )
      );
    }
  });
  for (const [policy, options] of Object.entries(BATCHING)) {
    assert.equal(
      POLICIES[policy].build(options).supports(model),
      undefined,
      policy,
    );
    for (const workers of [1, 2]) {
      const mixed = runRequests(model, requests.map(given), {
        policy: POLICIES[policy].build(options),
        workers,
        gapNs: 700,
      });
      assert.deepStrictEqual(mixed, alone, `seed ${SEED}, ${policy}`);
    }
  }
  return model;
}
