/**
 * Small models of every kind of node that becomes operators of cells, beside the plain operators: layouts, broadcasting
 * and moves. No data sets are needed.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { type ModelOptions, onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

const prng = new Prng(11);

const drawn = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from(
      { length: elementCount(dims) },
      () => 2 * prng.float() - 1,
    ),
  );
const positive = (...dims: number[]): PlainTensor =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => 0.5 + prng.float()),
  );
const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);

interface Case {
  inputs: Record<string, readonly (number | string)[]>;
  nodes: readonly WrittenNode[];
  weights?: Record<string, PlainTensor>;
  /** Operators that it has when it is one cell, but for those that cost nothing. */
  operators?: string[];
  /** Nodes that run in plain TypeScript; default none. */
  plain?: number;
  opset?: number;
  options?: ModelOptions;
}

/** The last node's results are the model's. */
const CASES: Readonly<Record<string, Case>> = {
  "convolution, bias added behind it, pooling, flattened product": {
    inputs: { x: ["N", 3, 9, 8] },
    weights: {
      w: drawn(5, 3, 3, 3),
      b: drawn(5, 1, 1),
      v: drawn(20, 4),
      c: drawn(4),
    },
    nodes: [
      node("Conv", ["x", "w"], ["a"], { pads: [1, 0, 1, 2], strides: [2, 2] }),
      node("Add", ["a", "b"], ["d"]),
      node("Relu", ["d"], ["e"]),
      node("MaxPool", ["e"], ["f"], { kernel_shape: [2, 2], strides: [2, 2] }),
      node("Flatten", ["f"], ["g"]),
      node("MatMul", ["g", "v"], ["h"]),
      node("Add", ["h", "c"], ["y"]),
    ],
  },
  "a signal: convolution in one dimension, means, products": {
    inputs: { x: [1, 4, 19] },
    weights: { w: drawn(6, 4, 3), b: drawn(6), v: drawn(3, 6) },
    nodes: [
      node("Conv", ["x", "w", "b"], ["a"], { strides: [2], pads: [1, 1] }),
      node("Sigmoid", ["a"], ["s"]),
      node("Mul", ["a", "s"], ["c"]),
      node("ReduceMean", ["c", "axes"], ["d"], { keepdims: 0 }),
      node("Gemm", ["d", "v"], ["y"], { transB: 1, alpha: { float: 0.5 } }),
    ].map((each) => each),
  },
  "parts of images: strided slices, channels padded, maps stacked": {
    inputs: { x: [1, 4, 7, 6] },
    weights: {
      w: drawn(4, 4, 1, 1),
      starts: whole(0, 1),
      ends: whole(7, 9),
      axes: whole(2, 3),
      steps: whole(2, 2),
      pads: whole(0, 1, 0, 0, 0, 2, 1, 0),
    },
    nodes: [
      node("Conv", ["x", "w"], ["a"]),
      node("Slice", ["a", "starts", "ends", "axes", "steps"], ["b"]),
      node("Pad", ["b", "pads"], ["c"]),
      node("Concat", ["c", "c"], ["d"], { axis: 1 }),
      node("Concat", ["d", "d"], ["e"], { axis: 3 }),
      node("Transpose", ["e"], ["y"], { perm: [0, 2, 3, 1] }),
    ],
  },
  "states laid out one beside the other, taken apart and put back": {
    inputs: { s: [1, 2, 9, 2] },
    operators: ["Slice", "Slice", "Concat"],
    weights: {
      none: whole(0),
      one: whole(1),
      two: whole(2),
      last: whole(3),
      sizes: whole(1, 2, 9, 2),
    },
    nodes: [
      node("Slice", ["s", "none", "one", "last"], ["h"]),
      node("Slice", ["s", "one", "two", "last"], ["c"]),
      node("Concat", ["c", "h"], ["d"], { axis: -1 }),
      node("Expand", ["d", "sizes"], ["y"]),
    ],
  },
  "attention in parts": {
    inputs: { x: [1, 6, 8] },
    weights: {
      q: drawn(8, 8),
      k: drawn(8, 8),
      v: drawn(8, 8),
      bias: drawn(8),
      heads: whole(1, 6, 2, 4),
      joined: whole(1, 6, 8),
      scale: plainOf("float32", [], [0.5]),
    },
    nodes: [
      ...["q", "k", "v"].flatMap((name) => [
        node("MatMul", ["x", name], [`${name}1`]),
        node("Add", [`${name}1`, "bias"], [`${name}2`]),
        node("Reshape", [`${name}2`, "heads"], [`${name}3`]),
      ]),
      node("Transpose", ["q3"], ["q4"], { perm: [0, 2, 1, 3] }),
      node("Transpose", ["k3"], ["k4"], { perm: [0, 2, 3, 1] }),
      node("Transpose", ["v3"], ["v4"], { perm: [0, 2, 1, 3] }),
      node("MatMul", ["q4", "k4"], ["s"]),
      node("Mul", ["s", "scale"], ["t"]),
      node("Softmax", ["t"], ["p"], { axis: -1 }),
      node("MatMul", ["p", "v4"], ["o"]),
      node("Transpose", ["o"], ["u"], { perm: [0, 2, 1, 3] }),
      node("Reshape", ["u", "joined"], ["y"]),
    ],
  },
  "layer norm in parts": {
    operators: ["LayerNormalization"],
    inputs: { x: [1, 5, 7] },
    weights: {
      two: plainOf("float32", [], [2]),
      epsilon: plainOf("float32", [], [1e-5]),
      scale: drawn(7),
      shift: drawn(7),
      axes: whole(-1),
    },
    nodes: [
      node("ReduceMean", ["x", "axes"], ["m"]),
      node("Sub", ["x", "m"], ["d"]),
      node("Pow", ["d", "two"], ["s"]),
      node("ReduceMean", ["s", "axes"], ["v"]),
      node("Add", ["v", "epsilon"], ["e"]),
      node("Sqrt", ["e"], ["r"]),
      node("Div", ["d", "r"], ["n"]),
      node("Mul", ["n", "scale"], ["a"]),
      node("Add", ["a", "shift"], ["y"]),
    ],
  },
  "layer norm over another axis is left alone": {
    inputs: { x: [1, 5, 7] },
    weights: {
      two: plainOf("float32", [], [2]),
      epsilon: plainOf("float32", [], [1e-5]),
      scale: drawn(7),
      shift: drawn(7),
      axes: whole(1),
    },
    nodes: [
      node("ReduceMean", ["x", "axes"], ["m"]),
      node("Sub", ["x", "m"], ["d"]),
      node("Pow", ["d", "two"], ["s"]),
      node("ReduceMean", ["s", "axes"], ["v"]),
      node("Add", ["v", "epsilon"], ["e"]),
      node("Sqrt", ["e"], ["r"]),
      node("Div", ["d", "r"], ["n"]),
      node("Mul", ["n", "scale"], ["a"]),
      node("Add", ["a", "shift"], ["y"]),
    ],
  },
  "GELU in parts, three ways, and SiLU": {
    inputs: { x: [1, 3, 20] },
    operators: ["Gelu", "Gelu", "Gelu", "Swish"],
    weights: {
      root: plainOf("float32", [], [Math.SQRT2]),
      inverse: plainOf("float32", [], [Math.SQRT1_2]),
      one: plainOf("float32", [], [1]),
      half: plainOf("float32", [], [0.5]),
    },
    nodes: [
      node("Div", ["x", "root"], ["a1"]),
      node("Erf", ["a1"], ["a2"]),
      node("Add", ["a2", "one"], ["a3"]),
      node("Mul", ["x", "a3"], ["a4"]),
      node("Mul", ["a4", "half"], ["a"]),
      node("Mul", ["a", "half"], ["b0"]),
      node("Mul", ["a", "inverse"], ["b1"]),
      node("Erf", ["b1"], ["b2"]),
      node("Add", ["one", "b2"], ["b3"]),
      node("Mul", ["b0", "b3"], ["b"]),
      node("Div", ["b", "root"], ["c1"]),
      node("Erf", ["c1"], ["c2"]),
      node("Add", ["c2", "one"], ["c3"]),
      node("Mul", ["c3", "half"], ["c4"]),
      node("Mul", ["b", "c4"], ["c"]),
      node("Sigmoid", ["c"], ["s"]),
      node("Mul", ["c", "s"], ["y"]),
    ],
  },
  "parts that others read are left alone": {
    inputs: { x: [1, 20] },
    operators: ["Sigmoid", "Mul", "Add"],
    nodes: [
      node("Sigmoid", ["x"], ["s"]),
      node("Mul", ["x", "s"], ["a"]),
      node("Add", ["a", "s"], ["y"]),
    ],
  },
  "broadcasting of every kind": {
    inputs: { x: [1, 3, 4, 5], r: [4, 1], c: [1, 5], s: [1] },
    weights: { w: drawn(3, 3, 1, 1), k: drawn(1, 3, 1, 1), l: drawn(4, 1) },
    nodes: [
      node("Conv", ["x", "w"], ["a"]),
      node("Mul", ["a", "k"], ["b"]),
      node("Add", ["b", "r"], ["d"]),
      node("Sub", ["c", "d"], ["e"]),
      node("Max", ["e", "s", "l"], ["f"]),
      node("Mul", ["r", "c"], ["g"]),
      node("Add", ["f", "g"], ["y"]),
    ],
  },
  "LSTM both ways, GRU, RNN": {
    inputs: { x: [4, 1, 3], h: [2, 1, 5], c: [2, 1, 5] },
    weights: {
      w: drawn(2, 20, 3),
      r: drawn(2, 20, 5),
      b: drawn(2, 40),
      gw: drawn(1, 18, 10),
      gr: drawn(1, 18, 6),
      gb: drawn(1, 36),
      nw: drawn(1, 4, 6),
      nr: drawn(1, 4, 4),
      steps: whole(4, 1, 10),
      more: whole(4, 1, 6),
    },
    nodes: [
      node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["a", "", "ac"], {
        direction: "bidirectional",
        hidden_size: 5,
      }),
      node("Reshape", ["a", "steps"], ["a1"]),
      node("GRU", ["a1", "gw", "gr", "gb"], ["g"], {
        direction: "reverse",
        hidden_size: 6,
        linear_before_reset: 1,
      }),
      node("Reshape", ["g", "more"], ["g1"]),
      node("RNN", ["g1", "nw", "nr"], ["", "n"], { hidden_size: 4 }),
      node("ReduceMax", ["ac"], ["m"], { keepdims: 0 }),
      node("Add", ["n", "m"], ["y"]),
    ],
  },
  "normalisation across channels, transposed convolution": {
    inputs: { x: [1, 5, 4, 4] },
    weights: {
      w: drawn(5, 2, 3, 3),
      scale: drawn(2),
      shift: drawn(2),
      mean: drawn(2),
      variance: positive(2),
    },
    nodes: [
      node("LRN", ["x"], ["a"], {
        size: 3,
        alpha: { float: 0.1 },
        beta: { float: 0.75 },
        bias: { float: 2 },
      }),
      node("ConvTranspose", ["a", "w"], ["b"], {
        strides: [2, 2],
        output_padding: [1, 1],
        pads: [1, 1, 1, 1],
      }),
      node("BatchNormalization", ["b", "scale", "shift", "mean", "variance"], [
        "c",
      ]),
      node("LeakyRelu", ["c"], ["d"], { alpha: { float: 0.2 } }),
      node("GlobalMaxPool", ["d"], ["y"]),
    ],
  },
  "what no kernel computes, between what kernels do": {
    inputs: { x: [1, 6] },
    weights: { w: drawn(6, 4), zero: plainOf("float32", [], [0]) },
    plain: 3,
    nodes: [
      node("MatMul", ["x", "w"], ["a"]),
      node("CumSum", ["a", "axis"], ["b"]),
      node("Greater", ["b", "zero"], ["c"]),
      node("Where", ["c", "a", "b"], ["d"]),
      node("Exp", ["d"], ["y"]),
    ],
  },
};

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

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`cut into cells: ${name}`, () => {
    const { inputs, nodes, weights = {}, plain = 0, options } = made;
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
            Math.abs(Number(y.data[at]) - value) <= 2e-6 * most,
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
  });
}

/** What cannot be cut, with what is said of it. */
const REFUSED: Readonly<Record<string, [Case, RegExp]>> = {
  "an operator that there is not": [
    { inputs: { x: [1] }, nodes: [node("Foo", ["x"], ["y"])] },
    /node "Foo:y" \(Foo\): there is no operator "Foo" of version 20/,
  ],
  "a size that depends on values": [
    { inputs: { x: [3] }, nodes: [node("NonZero", ["x"], ["y"])] },
    /node "NonZero:y" \(NonZero\): the size of "y" depends on values/,
  ],
  "a size that is open": [
    { inputs: { x: ["N", "seq"] }, nodes: [node("Relu", ["x"], ["y"])] },
    /input "x": the size of axis 1 is "seq"; give sizes: { "seq": ... }/,
  ],
  "more elements than there is room for": [
    {
      inputs: { x: [1, 4] },
      weights: { pads: whole(0, 1e9, 0, 0) },
      nodes: [node("Pad", ["x", "pads"], ["y"])],
    },
    /node "Pad:y" \(Pad\): it has more than 2\^28 elements/,
  ],
};

for (
  const [name, [{ inputs, nodes, weights = {} }, why]] of Object.entries(
    REFUSED,
  )
) {
  Deno.test(`not cut into cells: ${name}`, () => {
    const file = readModel(writeModel({
      graph: {
        inputs: Object.entries(inputs).map(([name, dims]) => ({ name, dims })),
        outputs: [{ name: "y" }],
        initializers: weights,
        nodes,
      },
    }));
    assert.throws(() => onnxModel(file), why);
  });
}
