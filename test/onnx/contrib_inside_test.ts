/** Operators of `com.microsoft` in graphs inside nodes, beside the same graphs in ONNX's own operators. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { drawn } from "./cell_cases.ts";
import { contrib } from "./contrib_cases.ts";
import {
  node,
  writeModel,
  type WrittenGraph,
  type WrittenNode,
} from "./write_model.ts";

const X = drawn(1, 4).data as Float32Array;
const WEIGHTS = {
  w: drawn(4, 4),
  b: drawn(4),
  one: plainOf("float32", [4], [1, 1, 1, 1]),
};

function modelOf(graph: WrittenGraph, opset: number) {
  const opsets = { "": opset, "com.microsoft": 1 };
  return onnxModel(readModel(writeModel({ graph, opsets }), {
    label: "m.onnx",
  }));
}

const branch = (nodes: readonly WrittenNode[]): WrittenGraph => ({
  outputs: [{ name: "picked" }],
  nodes: [
    ...nodes,
    // Places of a request may be none of a table: such a branch is not computed unless it is taken.
    node("Gather", ["made", "i"], ["picked"], { axis: 1 }),
  ],
});

const choice = (
  then: readonly WrittenNode[],
  other: readonly WrittenNode[],
): WrittenGraph => ({
  inputs: [
    { name: "x", dims: ["n", 4] },
    { name: "i", type: "int64", dims: [2] },
    { name: "yes", type: "bool", dims: [] },
  ],
  outputs: [{ name: "y" }],
  initializers: WEIGHTS,
  nodes: [
    node("If", ["yes"], ["y"], {
      then_branch: { graph: branch(then) },
      else_branch: { graph: branch(other) },
    }),
  ],
});

const request = (yes: number) => ({
  x: X,
  i: BigInt64Array.of(3n, 1n),
  yes: Uint8Array.of(yes),
});

Deno.test("branches that are not computed in front of their If have operators of com.microsoft, too", () => {
  const given = modelOf(
    choice(
      [contrib("FusedGemm", ["x", "w"], ["made"], { activation: "Relu" })],
      [
        contrib("FusedMatMul", ["x", "w"], ["m"], { transB: 1 }),
        contrib("SkipLayerNormalization", ["m", "x", "one", "b"], ["made"]),
      ],
    ),
    20,
  );
  const own = modelOf(
    choice(
      [node("Gemm", ["x", "w"], ["g"]), node("Relu", ["g"], ["made"])],
      [
        node("Transpose", ["w"], ["t"], { perm: [1, 0] }),
        node("MatMul", ["x", "t"], ["m"]),
        node("Add", ["m", "x"], ["s"]),
        node("LayerNormalization", ["s", "one", "b"], ["made"], {
          epsilon: { float: 1e-12 },
        }),
      ],
    ),
    20,
  );
  const requests = [request(1), request(0), request(1)];
  const results = runRequests(given, requests);
  assert.deepEqual(results, runRequests(own, requests));
  assert.deepEqual(runRequests(given, [request(0)])[0], results[1]);
});

Deno.test("a branch of com.microsoft that cannot be computed at these sizes has those of the other", () => {
  // Sizes that the product refuses: nobody takes it, and the other branch says what comes out.
  const wrong = contrib("FusedGemm", ["x", "b4"], ["made"], {
    activation: "Relu",
  });
  const graph = choice([node("Neg", ["x"], ["made"])], [
    node("Concat", ["x", "x"], ["b4"], { axis: 0 }),
    wrong,
  ]);
  const [{ y }] = runRequests(modelOf(graph, 20), [request(1)]);
  assert.deepEqual([...y.data], [-X[3], -X[1]]);
  assert.throws(
    () => runRequests(modelOf(graph, 20), [request(0)]),
    /operator If .* refused its inputs: node "FusedGemm:made": Gemm: /,
  );
});

Deno.test("a loop's body has operators of com.microsoft, and LayerNormalization from before version 17", () => {
  const loop = (body: readonly WrittenNode[]): WrittenGraph => ({
    inputs: [
      { name: "x", dims: [1, 4] },
      { name: "rounds", type: "int64", dims: [] },
    ],
    outputs: [{ name: "y" }],
    initializers: WEIGHTS,
    nodes: [
      node("Loop", ["rounds", "", "x"], ["y"], {
        body: {
          graph: {
            inputs: [
              { name: "round", type: "int64", dims: [] },
              { name: "on", type: "bool", dims: [] },
              { name: "state", dims: [1, 4] },
            ],
            outputs: [{ name: "goes", type: "bool" }, { name: "next" }],
            nodes: [node("Identity", ["on"], ["goes"]), ...body],
          },
        },
      }),
    ],
  });
  const given = modelOf(
    loop([
      contrib("QuickGelu", ["state"], ["g"], { alpha: { float: 1 } }),
      node("LayerNormalization", ["g", "one", "b"], ["next"]),
    ]),
    16,
  );
  const own = modelOf(
    loop([
      node("Swish", ["state"], ["g"], { alpha: { float: 1 } }),
      node("LayerNormalization", ["g", "one", "b"], ["next"]),
    ]),
    24,
  );
  const requests = [3n, 1n].map((rounds) => ({
    x: X,
    rounds: BigInt64Array.of(rounds),
  }));
  assert.deepEqual(runRequests(given, requests), runRequests(own, requests));
});
