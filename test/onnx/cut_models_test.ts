/**
 * Small models of every kind of node that becomes operators of cells, beside the plain operators: layouts, broadcasting
 * and moves. No data sets are needed.
 */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { type Case, checkCase, drawn, positive, whole } from "./cell_cases.ts";
import { node, writeModel } from "./write_model.ts";

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
  "a sum along another axis of as many as there are channels": {
    inputs: { x: [1, 2, 5, 3] },
    weights: { w: drawn(3, 2, 1, 1), b: drawn(3) },
    nodes: [
      node("Conv", ["x", "w"], ["a"]),
      node("Add", ["a", "b"], ["y"]),
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

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`cut into cells: ${name}`, () => checkCase(made));
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
