/** Branches of an If that requests decide on: which are computed in front of it, by kernels, and what comes out. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
  scalarOf,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { endings, runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import { node, writeModel, type WrittenGraph } from "./write_model.ts";

const prng = new Prng(5);

const floats = (...dims: number[]): PlainTensor<"float32"> =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => prng.float() - 0.5),
  );

const X = { name: "x", dims: [1, 4, 6] };
const RATE = { name: "rate", type: "int64" as const, dims: [] };
const AT = { name: "at", type: "int64" as const, dims: [1] };

/** What a detector of two sampling rates does: x with other weights. */
function network(of: string): WrittenGraph {
  return {
    outputs: [{ name: `y${of}` }, { name: `h${of}` }],
    initializers: {
      [`w${of}`]: floats(5, 4, 3),
      [`i${of}`]: floats(1, 16, 5),
      [`r${of}`]: floats(1, 16, 4),
    },
    nodes: [
      node("Conv", ["x", `w${of}`], [`a${of}`]),
      node("Transpose", [`a${of}`], [`t${of}`], { perm: [2, 0, 1] }),
      node(
        "LSTM",
        [`t${of}`, `i${of}`, `r${of}`],
        [`y${of}`, `h${of}`],
        { hidden_size: 4 },
      ),
    ],
  };
}

/** Ends with the entry of its input that the request says. */
const pick: WrittenGraph = {
  outputs: [{ name: "yPicked" }, { name: "hPicked" }],
  initializers: {
    zeros: plainOf("float32", [1, 1, 4], Array(4).fill(0)),
    four: plainOf("int64", [4], [4, 1, 1, 4]),
    axis: plainOf("int64", [1], [2]),
    to: plainOf("int64", [1], [4]),
    from: plainOf("int64", [1], [0]),
  },
  nodes: [
    node("Gather", ["x", "at"], ["row"], { axis: 1 }),
    node("Slice", ["row", "from", "to", "axis"], ["few"]),
    node("Expand", ["few", "four"], ["yPicked"]),
    node("Identity", ["zeros"], ["hPicked"]),
  ],
};

const CASES: Record<
  string,
  { then: WrittenGraph; otherwise: WrittenGraph; kernels: number }
> = {
  "both can be computed": {
    then: network("A"),
    otherwise: network("B"),
    kernels: 2,
  },
  "both have the same names": {
    then: network("A"),
    otherwise: network("A"),
    kernels: 2,
  },
  "one takes an entry that may not be there": {
    then: network("A"),
    otherwise: pick,
    kernels: 1,
  },
  "another If is in one": {
    then: network("A"),
    otherwise: {
      outputs: [{ name: "yInner" }, { name: "hInner" }],
      initializers: { low: scalarOf("int64", 1) },
      nodes: [
        node("Equal", ["rate", "low"], ["isLow"]),
        node("If", ["isLow"], ["yInner", "hInner"], {
          then_branch: { graph: network("B") },
          else_branch: { graph: pick },
        }),
      ],
    },
    kernels: 1,
  },
};

for (const [name, { then, otherwise, kernels }] of Object.entries(CASES)) {
  Deno.test(`branches: ${name}`, () => {
    const file = readModel(writeModel({
      graph: {
        inputs: [X, RATE, AT],
        outputs: [{ name: "y" }, { name: "h" }],
        initializers: { high: scalarOf("int64", 2) },
        nodes: [
          node("Equal", ["rate", "high"], ["isHigh"]),
          node("If", ["isHigh"], ["y", "h"], {
            then_branch: { graph: then },
            else_branch: { graph: otherwise },
          }),
        ],
      },
    }));
    const model = onnxModel(file, { cells: "layer" });
    // The layers of what is computed in front are steps.
    const steps = model.cells.filter(({ recurrent }) => recurrent);
    assert.equal(steps.length, kernels);

    const requests = [2, 1, 0, 2, 1].map((rate) => ({
      x: floats(...X.dims).data,
      rate: BigInt64Array.of(BigInt(rate)),
      // Out of range, where nobody picks.
      at: BigInt64Array.of(rate === 2 ? 9n : 3n),
    }));
    const alone = requests.map((request) => runRequests(model, [request])[0]);
    requests.forEach(({ x, rate, at }, i) => {
      const wanted = runPlainGraph(
        file.graph,
        new Map<string, PlainTensor>([
          ["x", plainTensor("float32", X.dims, x)],
          ["rate", plainTensor("int64", [], rate)],
          ["at", plainTensor("int64", [1], at)],
        ]),
      );
      for (const [output, { data, dims }] of wanted) {
        assert.deepEqual(alone[i][output].shape, dims);
        data.forEach((value, at) =>
          assert(
            Math.abs(Number(value) - Number(alone[i][output].data[at])) < 1e-6,
          )
        );
      }
    });
    for (const [policy, options] of Object.entries(BATCHING)) {
      const mixed = runRequests(model, requests, {
        policy: POLICIES[policy].build(options),
        gapNs: 700,
      });
      assert.deepEqual(mixed, alone, policy);
    }
    if (kernels === 2) return;
    const [refused] = endings(model, [{
      ...requests[2],
      at: BigInt64Array.of(9n),
    }]);
    assert(refused instanceof Error);
    assert.match(refused.message, /\(node "If:y"\).*"Gather:row"/);
  });
}

Deno.test("branches: one that takes an entry which is never there fails for whom it is taken", () => {
  const few: WrittenGraph = {
    outputs: [{ name: "yFew" }],
    initializers: { beyond: plainOf("int64", X.dims, Array(24).fill(9)) },
    nodes: [node("GatherElements", ["x", "beyond"], ["yFew"], { axis: 1 })],
  };
  const all: WrittenGraph = {
    outputs: [{ name: "yAll" }],
    nodes: [node("Relu", ["x"], ["yAll"])],
  };
  const file = readModel(writeModel({
    graph: {
      inputs: [X, RATE],
      outputs: [{ name: "y" }],
      initializers: { high: scalarOf("int64", 2) },
      nodes: [
        node("Equal", ["rate", "high"], ["isHigh"]),
        node("If", ["isHigh"], ["y"], {
          then_branch: { graph: all },
          else_branch: { graph: few },
        }),
      ],
    },
  }));
  const model = onnxModel(file, { cells: "layer" });
  const x = floats(...X.dims).data;
  const [taken, other] = endings(
    model,
    [1, 2].map((rate) => ({ x, rate: BigInt64Array.of(BigInt(rate)) })),
  );
  assert(taken instanceof Error);
  assert.match(taken.message, /"GatherElements:yFew"/);
  assert(!(other instanceof Error), String(other));
});
