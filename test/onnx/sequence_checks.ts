/** Requests of any length, beside the plain graph. */
import assert from "node:assert/strict";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import type { OnnxCellModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { numbersOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";

export type Request = ReadonlyMap<string, PlainTensor>;

export const given = (request: Request) =>
  Object.fromEntries(
    [...request].map(([name, { data, dims }]) => [
      name,
      { shape: dims, data: data as TensorData },
    ]),
  );

/** Whether a request gets what the plain graph gives. */
export function near(
  model: OnnxCellModel,
  file: OnnxModel,
  request: Request,
  what: string,
): void {
  const [result] = runRequests(model, [given(request)]);
  for (const [name, wanted] of runPlainGraph(file.graph, request)) {
    const found = result[name];
    assert.deepEqual(found.shape, wanted.dims, `${what}: ${name}`);
    numbersOf(wanted).forEach((value, at) =>
      assert(
        Math.abs(Number(found.data[at]) - value) <= 2e-5,
        `${what}: ${name}[${at}] is ${found.data[at]}, expected ${value}`,
      )
    );
  }
}
