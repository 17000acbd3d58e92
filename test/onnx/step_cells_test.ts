/**
 * Recurrent layers of ONNX files as cells of one step: beside the plain operators, the same bits alone and in mixed
 * batches under every policy, positions of different requests in one batch.
 */
import assert from "node:assert/strict";
import { POLICIES } from "../../src/policy/registry.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import {
  BATCHING,
  type Case,
  checkCase,
  drawn,
  given,
  load,
  requestsTo,
  whole,
} from "./step_cases.ts";
import { node } from "./write_model.ts";

/** Weights of a layer: w, r and b, with a prefix. */
function layer(
  prefix: string,
  gates: number,
  width: number,
  hidden: number,
  directions = 1,
): Record<string, PlainTensor> {
  return {
    [`${prefix}w`]: drawn(directions, gates * hidden, width),
    [`${prefix}r`]: drawn(directions, gates * hidden, hidden),
    [`${prefix}b`]: drawn(directions, 2 * gates * hidden),
  };
}

const CASES: Readonly<Record<string, Case>> = {
  "LSTM over an input, its last state": {
    inputs: { x: [6, 1, 3] },
    weights: layer("", 4, 3, 5),
    nodes: [
      node("LSTM", ["x", "w", "r", "b"], ["", "y"], { hidden_size: 5 }),
    ],
    outputs: ["y"],
    cells: ["step", "part"],
  },
  "GRU with given state, layers before and after": {
    inputs: { x: [5, 1, 4], h: [1, 1, 6] },
    weights: { ...layer("", 3, 7, 6), in: drawn(4, 7), out: drawn(6, 2) },
    nodes: [
      node("MatMul", ["x", "in"], ["a"]),
      node("Relu", ["a"], ["a1"]),
      node("GRU", ["a1", "w", "r", "b", "", "h"], ["s", "y1"], {
        hidden_size: 6,
        linear_before_reset: 1,
      }),
      node("MatMul", ["s", "out"], ["y0"]),
    ],
    outputs: ["y0", "y1"],
    cells: ["part", "step", "part"],
  },
  "GRU that resets before the product, in reverse, without bias": {
    inputs: { x: [5, 1, 4] },
    weights: layer("", 3, 4, 6),
    nodes: [
      node("GRU", ["x", "w", "r"], ["y0", "y1"], {
        hidden_size: 6,
        direction: "reverse",
      }),
    ],
    outputs: ["y0", "y1"],
    cells: ["step", "part"],
  },
  "RNN both ways, given states": {
    inputs: { x: [4, 1, 3], h: [2, 1, 5] },
    weights: layer("", 1, 3, 5, 2),
    nodes: [
      node("RNN", ["x", "w", "r", "b", "", "h"], ["y0", "y1"], {
        hidden_size: 5,
        direction: "bidirectional",
      }),
    ],
    outputs: ["y0", "y1"],
    cells: ["step", "step", "part"],
  },
  "two layers both ways, the batch in front": {
    inputs: { x: [1, 4, 3] },
    weights: {
      ...layer("", 4, 3, 5, 2),
      ...layer("v", 4, 10, 4, 2),
      steps: whole(4, 1, 10),
    },
    nodes: [
      node("Transpose", ["x"], ["x1"], { perm: [1, 0, 2] }),
      node("LSTM", ["x1", "w", "r", "b"], ["s"], {
        hidden_size: 5,
        direction: "bidirectional",
      }),
      node("Transpose", ["s"], ["s1"], { perm: [0, 2, 1, 3] }),
      node("Reshape", ["s1", "steps"], ["s2"]),
      node("LSTM", ["s2", "vw", "vr", "vb"], ["y0", "y1", "y2"], {
        hidden_size: 4,
        direction: "bidirectional",
      }),
    ],
    outputs: ["y0", "y1", "y2"],
    cells: ["step", "step", "step", "step", "part"],
  },
  "states that are constants, a layer between, the last position": {
    inputs: { x: [5, 1, 3] },
    weights: {
      ...layer("", 4, 3, 5),
      ...layer("v", 3, 4, 6),
      h: drawn(1, 1, 5),
      c: plainTensor("float32", [1, 1, 5], new Float32Array(5)),
      axes: whole(1),
      between: drawn(5, 4),
      last: plainOf("int64", [], [-1]),
    },
    nodes: [
      node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["s"], {
        hidden_size: 5,
      }),
      node("Squeeze", ["s", "axes"], ["s1"]),
      node("MatMul", ["s1", "between"], ["a"]),
      node("Tanh", ["a"], ["a1"]),
      node("GRU", ["a1", "vw", "vr", "vb"], ["t"], {
        hidden_size: 6,
        linear_before_reset: 1,
      }),
      node("Gather", ["t", "last"], ["y"]),
    ],
    outputs: ["y"],
    cells: ["step", "part", "step", "part"],
  },
  "a layer that begins where another one ended": {
    inputs: { x: [3, 1, 3], z: [5, 1, 2] },
    weights: { ...layer("", 4, 3, 5), ...layer("v", 4, 2, 5) },
    nodes: [
      node("LSTM", ["x", "w", "r", "b"], ["", "h", "c"], { hidden_size: 5 }),
      node("LSTM", ["z", "vw", "vr", "vb", "", "h", "c"], ["s", "y1"], {
        hidden_size: 5,
      }),
      node("Exp", ["s"], ["y0"]),
    ],
    outputs: ["y0", "y1", "h"],
    cells: ["step", "step", "part"],
  },
  "a convolution over time, states computed for both ways": {
    inputs: { x: [1, 4, 9], z: [1, 3] },
    weights: {
      ...layer("", 3, 6, 5, 2),
      k: drawn(6, 4, 3),
      first: drawn(3, 10),
      both: whole(2, 1, 5),
    },
    nodes: [
      node("Conv", ["x", "k"], ["a"], { strides: [2] }),
      node("Transpose", ["a"], ["a1"], { perm: [2, 0, 1] }),
      node("MatMul", ["z", "first"], ["h"]),
      node("Reshape", ["h", "both"], ["h1"]),
      node("GRU", ["a1", "w", "r", "b", "", "h1"], ["y0", "y1"], {
        hidden_size: 5,
        direction: "bidirectional",
      }),
    ],
    outputs: ["y0", "y1", "h1"],
    cells: ["part", "part", "step", "step", "part"],
  },
};

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`cut into steps: ${name}`, () => void checkCase(made));
}

Deno.test("every policy is tried with steps", () => {
  assert.deepEqual(Object.keys(BATCHING).sort(), Object.keys(POLICIES).sort());
});

Deno.test("weights and states that do not fit are refused by name", () => {
  const made = (
    weights: Record<string, PlainTensor>,
    h: readonly number[] = [1, 1, 5],
  ): Case => ({
    inputs: { x: [3, 1, 3], h },
    weights: { ...layer("", 3, 3, 5), ...weights },
    nodes: [
      node("GRU", ["x", "w", "r", "b", "", "h"], ["", "y"], {
        hidden_size: 5,
      }),
    ],
    outputs: ["y"],
    cells: ["step", "part"],
  });
  const fails = (broken: Case) =>
    assert.throws(
      () => onnxModel(load(broken), { cells: "layer" }),
      (error) => {
        assert(error instanceof OnnxError, `${error}`);
        assert.match(error.message, /GRU/);
        return true;
      },
    );
  onnxModel(load(made({})), { cells: "layer" });
  fails(made({ w: drawn(1, 15, 4) }));
  fails(made({ r: drawn(1, 14, 5) }));
  fails(made({ b: drawn(1, 15) }));
  fails(made({}, [1, 1, 4]));
});

for (const direction of ["forward", "reverse"]) {
  Deno.test(`positions of different requests share a batch: ${direction}`, () => {
    const made: Case = {
      inputs: { x: [8, 1, 3] },
      weights: layer("", 4, 3, 5),
      nodes: [
        node("LSTM", ["x", "w", "r", "b"], ["", "y"], {
          hidden_size: 5,
          direction,
        }),
      ],
      outputs: ["y"],
      cells: ["step", "part"],
    };
    const model = onnxModel(load(made), { name: "chain", cells: "layer" });
    for (const name of ["cellular", "lazy"]) {
      const policy = POLICIES[name].build(BATCHING[name]);
      const schedule = policy.schedule.bind(policy);
      let shared = 0;
      policy.schedule = (view) => {
        const decision = schedule(view);
        if (decision.kind !== "launch") return decision;
        for (const { cell, nodes } of decision.launch.steps) {
          // Steps are the first nodes of their requests, in order.
          const positions = new Set(nodes.map(({ index }) => index));
          if (cell.recurrent && positions.size > 1) shared++;
        }
        return decision;
      };
      const requests = requestsTo(made, 5);
      // A step takes 1100 ns and more: the next request arrives when two are done.
      runRequests(model, requests.map(given), { policy, gapNs: 2500 });
      assert(shared > 0, `${name}: no batch has two positions`);
    }
  });
}
