/** What follows from sizes that a file declares: axes of the batch wherever they stand, branches that do not fit. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { endings, runRequests } from "../run_requests.ts";
import { node, writeModel, type WrittenValue } from "./write_model.ts";

function stateful(...inputs: WrittenValue[]) {
  return readModel(writeModel({
    graph: {
      inputs,
      outputs: [{ name: "y" }],
      initializers: { axis: plainOf("int64", [1], [0]) },
      nodes: [
        node("ReduceSum", ["h", "axis"], ["sum"], { keepdims: 0 }),
        node("Add", ["x", "sum"], ["y"]),
      ],
    },
  }));
}

Deno.test("a batch axis that a state names as well is 1 there, too", () => {
  const model = onnxModel(stateful(
    { name: "x", dims: ["batch", 2] },
    { name: "h", dims: [3, "batch", 2] },
  ));
  assert.deepEqual(model.inputs.map(({ shape }) => shape), [[1, 2], [3, 1, 2]]);
  const [{ y }] = runRequests(model, [{
    x: Float32Array.of(1, 2),
    h: Float32Array.of(1, 2, 3, 4, 5, 6),
  }]);
  assert.deepEqual([...y.data], [10, 14]);
});

Deno.test("which of two names in front is the batch's is not guessed", () => {
  const file = stateful(
    { name: "x", dims: ["time", 2] },
    { name: "h", dims: ["batch", "time", 2] },
  );
  assert.throws(() => onnxModel(file), /input "h".*axis 1 is "time"/);
});

/** A choice: of both branches, one or none takes rows of 3. */
function chosen(then: number, otherwise: number) {
  const branch = (to: number) => ({
    graph: {
      outputs: [{ name: `y${to}` }],
      nodes: [node("Reshape", ["x", `to${to}`], [`y${to}`])],
    },
  });
  return readModel(writeModel({
    graph: {
      inputs: [
        { name: "x", dims: [1, 3] },
        { name: "first", type: "bool", dims: [] },
      ],
      outputs: [{ name: "y" }],
      initializers: {
        [`to${then}`]: plainOf("int64", [2], [then, 1]),
        [`to${otherwise}`]: plainOf("int64", [2], [otherwise, 1]),
      },
      nodes: [node("If", ["first"], ["y"], {
        then_branch: branch(then),
        else_branch: branch(otherwise),
      })],
    },
  }));
}

for (const [then, otherwise] of [[3, 4], [4, 3]]) {
  Deno.test(`a branch that cannot be computed ends who takes it (${then}, ${otherwise})`, () => {
    const model = onnxModel(chosen(then, otherwise));
    assert.deepEqual(model.results[0].shape, [3, 1]);
    const x = Float32Array.of(7, 8, 9);
    const [fits, other] = [then === 3, then !== 3].map((first) =>
      endings(model, [{ x, first: Uint8Array.of(Number(first)) }])[0]
    );
    assert(!(fits instanceof Error));
    assert.deepEqual([...fits.y.data], [7, 8, 9]);
    assert(other instanceof Error);
    assert.match(other.message, /"y4"|Reshape|dims/);
  });
}

Deno.test("where neither branch can be computed, the file is refused", () => {
  assert.throws(
    () => onnxModel(chosen(5, 4)),
    /"then_branch".*Reshape/,
  );
});
