/** A file as a part of other cells, and constants in place of inputs. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { onceModel } from "../engine/random_cells.ts";
import { runRequests } from "../run_requests.ts";
import { type Case, drawn, load } from "./step_cases.ts";
import { node } from "./write_model.ts";

/** b x + c, and x as it is. */
const LINE: Case = {
  inputs: { b: [1, 3], unread: [1], x: [1, 3] },
  weights: { c: drawn(3) },
  nodes: [node("Mul", ["x", "b"], ["bx"]), node("Add", ["bx", "c"], ["y"])],
  outputs: ["y", "x"],
  cells: ["part"],
};

Deno.test("a file is a part of another cell, its ports named as in it", () => {
  const model = onnxModel(load(LINE));
  const whole = model.whole();
  assert.deepEqual(whole.inputs.map(({ name }) => name), ["b", "x"]);
  assert.deepEqual(whole.outputs.map(({ name }) => name), ["y", "x"]);
  const cell = defineCell({
    name: "outer",
    inputs: { b: f32(3), x: f32(3) },
    body: (op, { b, x }) => ({ z: op.Neg(op.Cell(whole, { b, x }).y) }),
  });
  const [b, x] = [[1, 2, 3], [4, 5, 6]];
  const [{ z }] = runRequests(onceModel(cell), [[b, x]]);
  const [{ y }] = runRequests(model, [{
    b: Float32Array.from(b),
    x: Float32Array.from(x),
    unread: new Float32Array(1),
  }]);
  assert.deepEqual(z.data, (y.data as Float32Array).map((value) => -value));
});

Deno.test("a file whose recurrent layers are steps of their own is no part, one with all in one cell is", () => {
  const file = load({
    inputs: { x: [6, 1, 3] },
    weights: { w: drawn(1, 20, 3), r: drawn(1, 20, 5) },
    nodes: [node("LSTM", ["x", "w", "r"], ["y"], { hidden_size: 5 })],
    outputs: ["y"],
    cells: ["step"],
  });
  assert.throws(
    () => onnxModel(file).whole(),
    (error: Error) =>
      error instanceof OnnxError && /with cells: "model"/.test(error.message),
  );
  assert.equal(onnxModel(file, { cells: "model" }).whole().outputs.length, 1);
});

Deno.test("constants take the place of inputs, which requests then do not bring", () => {
  const b = plainOf("float32", [1, 3], [2, 2, 2]);
  const model = onnxModel(load(LINE), { constants: new Map([["b", b]]) });
  assert.deepEqual(model.inputs.map(({ name }) => name), ["unread", "x"]);
  const given = { x: Float32Array.of(1, 2, 3), unread: new Float32Array(1) };
  const [constant] = runRequests(model, [given]);
  const [brought] = runRequests(onnxModel(load(LINE)), [{
    ...given,
    b: b.data as Float32Array,
  }]);
  assert.deepEqual(constant, brought);
  for (
    const [name, tensor, message] of [
      ["b", plainOf("int32", [1, 3], [2, 2, 2]), /input "b": it is float32/],
      ["d", b, /there is no value "d"/],
    ] as const
  ) {
    assert.throws(
      () => onnxModel(load(LINE), { constants: new Map([[name, tensor]]) }),
      message,
    );
  }
});
