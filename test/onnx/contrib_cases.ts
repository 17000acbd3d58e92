/** Nodes of `com.microsoft` for tests, beside what they stand for, written in ONNX's own operators. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { writeModel, type WrittenNode } from "./write_model.ts";

const OPSETS = { "": 23, "com.microsoft": 1 };

export const contrib = (
  op: string,
  inputs: readonly string[],
  outputs: readonly string[] = ["y"],
  attributes: WrittenNode["attributes"] = {},
): WrittenNode => ({
  op,
  domain: "com.microsoft",
  inputs,
  outputs,
  attributes,
});

export const float = (value: number) => plainOf("float32", [], [value]);
export const ids = (...values: number[]) =>
  plainOf("int32", [1, values.length], values);
/** A node and what it stands for. */
export interface Case {
  given: WrittenNode;
  /** Written in ONNX's own operators; the last one makes the same outputs. */
  own: readonly WrittenNode[];
  inputs: Readonly<Record<string, PlainTensor>>;
  constants?: Readonly<Record<string, PlainTensor>>;
  outputs?: readonly string[];
  opset?: number;
}

/** A file of them, read. */
export function load(
  nodes: readonly WrittenNode[],
  { inputs, constants = {}, outputs = ["y"] }: Case,
  types: ReadonlyMap<string, PlainType>,
  opset: number,
) {
  return readModel(writeModel({
    graph: {
      inputs: Object.entries(inputs).map(([name, { type, dims }]) => ({
        name,
        type,
        dims,
      })),
      outputs: outputs.map((name) => ({
        name,
        type: types.get(name) ?? "float32",
      })),
      initializers: constants,
      nodes,
    },
    opsets: { ...OPSETS, "": opset },
  }));
}

/** Runs a node beside what it stands for. */
export function checkCase(made: Case): void {
  const own = load(made.own, made, new Map(), 23);
  const inputs = new Map(Object.entries(made.inputs));
  const wanted = runPlainGraph(own.graph, inputs);
  const types = new Map([...wanted].map(([name, { type }]) => [name, type]));
  const model = onnxModel(
    load([made.given], made, types, made.opset ?? 23),
  );
  const request = Object.fromEntries(
    [...inputs].map(([name, { data }]) => [name, data as TensorData]),
  );
  const [alone, ...others] = runRequests(model, [request, request, request]);
  for (const other of others) assert.deepStrictEqual(other, alone);
  for (const [output, { dims, data, type }] of wanted) {
    assert.deepEqual(alone[output].shape, dims);
    assert.equal(alone[output].data.length, elementCount(dims));
    alone[output].data.forEach((value, at) => {
      const off = Math.abs(Number(value) - Number(data[at]));
      assert(
        off <= (type === "float32" ? 3e-6 : 0),
        `${output}[${at}] is ${value}, expected ${data[at]}`,
      );
    });
  }
}
