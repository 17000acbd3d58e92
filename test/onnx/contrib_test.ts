/** Operators of `com.microsoft`, beside what they stand for, written in ONNX's own. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { EXPANSIONS } from "../../src/onnx/contrib/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { drawn, whole } from "./cell_cases.ts";
import { ATTENTION_CASES } from "./contrib_attention.ts";
import { BYTES } from "./contrib_bytes.ts";
import {
  type Case,
  checkCase,
  contrib,
  float,
  ids,
  load,
} from "./contrib_cases.ts";
import { node, type WrittenNode } from "./write_model.ts";

const CASES: Readonly<Record<string, Case>> = {
  FusedMatMul: {
    given: contrib("FusedMatMul", ["x", "w"], ["y"], {
      transA: 1,
      transB: 1,
      alpha: { float: 0.5 },
    }),
    own: [
      node("Transpose", ["x"], ["a"], { perm: [0, 2, 1] }),
      node("Transpose", ["w"], ["b"], { perm: [1, 0] }),
      node("MatMul", ["a", "b"], ["c"]),
      node("Mul", ["c", "half"], ["y"]),
    ],
    inputs: { x: drawn(1, 5, 3) },
    constants: { w: drawn(4, 5), half: float(0.5) },
  },
  TransposeMatMul: {
    given: contrib("TransposeMatMul", ["x", "w"]),
    own: [node("MatMul", ["x", "w"], ["y"])],
    inputs: { x: drawn(1, 5) },
    constants: { w: drawn(5, 4) },
  },
  MatMulNBits: {
    given: contrib("MatMulNBits", ["x", "packed", "scales", "zeros"], ["y"], {
      ...{ K: 5, N: 2, bits: 4, block_size: 4 },
    }),
    own: [node("MatMul", ["x", "w"], ["y"])],
    inputs: { x: drawn(1, 3, 5) },
    constants: {
      // Two columns of two blocks, the second of which has one number; zero points 7 and 9, then 8 and 0.
      packed: plainOf("uint8", [2, 2, 2], [
        ...[0x10, 0x32, 0x04, 0x00],
        ...[0xfe, 0xdc, 0x0b, 0x00],
      ]),
      scales: plainOf("float32", [4], [0.5, 2, 0.25, 1]),
      zeros: plainOf("uint8", [2], [0x97, 0x08]),
      w: plainOf("float32", [5, 2], [
        ...[-3.5, 1.5],
        ...[-3, 1.75],
        ...[-2.5, 1],
        ...[-2, 1.25],
        ...[-10, 11],
      ]),
    },
  },
  GatherBlockQuantized: {
    given: contrib(
      "GatherBlockQuantized",
      ["packed", "i", "scales", "zeros"],
      ["y"],
      { bits: 4, block_size: 2 },
    ),
    own: [node("Gather", ["table", "i"], ["y"], { axis: 0 })],
    inputs: { i: ids(1, 0, 1) },
    constants: {
      // Two rows of two blocks; zero points 7 and 9, then 8 and 0.
      packed: plainOf("uint8", [2, 2], [...[0x10, 0x32], ...[0xfe, 0xdc]]),
      scales: plainOf("float32", [2, 2], [0.5, 2, 0.25, 1]),
      zeros: plainOf("uint8", [2, 1], [0x97, 0x08]),
      table: plainOf("float32", [2, 4], [
        ...[-3.5, -3, -14, -12],
        ...[1.5, 1.75, 12, 13],
      ]),
    },
  },
  "GatherBlockQuantized of 8 bits": {
    given: contrib(
      "GatherBlockQuantized",
      ["packed", "i", "scales"],
      ["y"],
      { bits: 8, block_size: 16, quantize_axis: -1 },
    ),
    own: [node("Gather", ["table", "i"], ["y"], { axis: 0 })],
    inputs: { i: ids(1, 0) },
    constants: {
      packed: plainOf("uint8", [2, 3], [0, 128, 255, 129, 127, 1]),
      scales: plainOf("float32", [2, 1], [0.5, 2]),
      table: plainOf("float32", [2, 3], [
        ...[-64, 0, 63.5],
        ...[2, -2, -254],
      ]),
    },
  },
  FusedConv: {
    given: contrib("FusedConv", ["x", "w", "b", "z"], ["y"], {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 1],
      activation: "LeakyRelu",
      activation_params: { floats: [0.25] },
    }),
    own: [
      node("Conv", ["x", "w", "b"], ["a"], { pads: [1, 1, 1, 1] }),
      node("Add", ["a", "z"], ["c"]),
      node("LeakyRelu", ["c"], ["y"], { alpha: { float: 0.25 } }),
    ],
    inputs: { x: drawn(1, 2, 5, 4), z: drawn(1, 3, 5, 4) },
    constants: { w: drawn(3, 2, 3, 3), b: drawn(3) },
  },
  FusedGemm: {
    given: contrib("FusedGemm", ["x", "w", "b"], ["y"], {
      transB: 1,
      alpha: { float: 2 },
      activation: "Relu",
    }),
    own: [
      node("Gemm", ["x", "w", "b"], ["a"], { transB: 1, alpha: { float: 2 } }),
      node("Relu", ["a"], ["y"]),
    ],
    inputs: { x: drawn(1, 5) },
    constants: { w: drawn(4, 5), b: drawn(4) },
  },
  "FusedGemm with a slope": {
    given: contrib("FusedGemm", ["x", "w"], ["y"], {
      activation: "LeakyRelu",
      activation_alpha: { float: 0.25 },
    }),
    own: [
      node("Gemm", ["x", "w"], ["a"]),
      node("LeakyRelu", ["a"], ["y"], { alpha: { float: 0.25 } }),
    ],
    inputs: { x: drawn(1, 5) },
    constants: { w: drawn(5, 4) },
  },
  "FusedGemm with a slope and a shift": {
    given: contrib("FusedGemm", ["x", "w"], ["y"], {
      activation: "HardSigmoid",
      activation_alpha: { float: 0.5 },
      activation_beta: { float: 0.25 },
    }),
    own: [
      node("Gemm", ["x", "w"], ["a"]),
      node("HardSigmoid", ["a"], ["y"], {
        alpha: { float: 0.5 },
        beta: { float: 0.25 },
      }),
    ],
    inputs: { x: drawn(1, 5) },
    constants: { w: drawn(5, 4) },
  },
  Gelu: {
    given: contrib("Gelu", ["x"]),
    own: [node("Gelu", ["x"], ["y"])],
    inputs: { x: drawn(1, 9) },
  },
  BiasGelu: {
    given: contrib("BiasGelu", ["x", "b"]),
    own: [node("Add", ["x", "b"], ["a"]), node("Gelu", ["a"], ["y"])],
    inputs: { x: drawn(1, 3, 9) },
    constants: { b: drawn(9) },
  },
  FastGelu: {
    given: contrib("FastGelu", ["x", "b"]),
    own: [
      node("Add", ["x", "b"], ["a"]),
      node("Gelu", ["a"], ["y"], { approximate: "tanh" }),
    ],
    inputs: { x: drawn(1, 9) },
    constants: { b: drawn(9) },
  },
  QuickGelu: {
    given: contrib("QuickGelu", ["x"]),
    own: [
      node("Mul", ["x", "alpha"], ["a"]),
      node("Sigmoid", ["a"], ["s"]),
      node("Mul", ["x", "s"], ["y"]),
    ],
    inputs: { x: drawn(1, 9) },
    constants: { alpha: float(1.702) },
  },
  LayerNormalization: {
    given: node("LayerNormalization", ["x", "g", "b"], ["y"]),
    own: [node("LayerNormalization", ["x", "g", "b"], ["y"])],
    inputs: { x: drawn(1, 3, 6) },
    constants: { g: drawn(6), b: drawn(6) },
    opset: 12,
  },
  SimplifiedLayerNormalization: {
    given: node("SimplifiedLayerNormalization", ["x", "g"], ["y"], {
      epsilon: { float: 1e-6 },
    }),
    own: [
      node("RMSNormalization", ["x", "g"], ["y"], { epsilon: { float: 1e-6 } }),
    ],
    inputs: { x: drawn(1, 3, 6) },
    constants: { g: drawn(6) },
  },
  SkipLayerNormalization: {
    given: contrib(
      "SkipLayerNormalization",
      ["x", "z", "g", "b", "c"],
      ["y", "", "", "sum"],
      { epsilon: { float: 1e-5 } },
    ),
    own: [
      node("Add", ["x", "z"], ["a"]),
      node("Add", ["a", "c"], ["sum"]),
      node("LayerNormalization", ["sum", "g", "b"], ["y"]),
    ],
    inputs: { x: drawn(1, 3, 6), z: drawn(1, 3, 6) },
    constants: { g: drawn(6), b: drawn(6), c: drawn(6) },
    outputs: ["y", "sum"],
  },
  SkipSimplifiedLayerNormalization: {
    given: contrib(
      "SkipSimplifiedLayerNormalization",
      ["x", "z", "g"],
      ["y", "", "", "sum"],
      { epsilon: { float: 1e-5 } },
    ),
    own: [
      node("Add", ["x", "z"], ["sum"]),
      node("RMSNormalization", ["sum", "g"], ["y"]),
    ],
    inputs: { x: drawn(1, 3, 6), z: drawn(1, 3, 6) },
    constants: { g: drawn(6) },
    outputs: ["y", "sum"],
  },
  EmbedLayerNormalization: {
    given: contrib(
      "EmbedLayerNormalization",
      ["x", "z", "words", "places", "kinds", "g", "b", "mask"],
      ["y", "count"],
      { epsilon: { float: 1e-5 } },
    ),
    own: [
      node("Gather", ["words", "x"], ["a"]),
      node("Slice", ["places", "from", "to", "from"], ["p"]),
      node("Gather", ["kinds", "z"], ["k"]),
      node("Add", ["a", "p"], ["c"]),
      node("Add", ["c", "k"], ["d"]),
      node("ReduceSum", ["mask", "axis"], ["count"], { keepdims: 0 }),
      node("LayerNormalization", ["d", "g", "b"], ["y"]),
    ],
    inputs: { x: ids(3, 0, 4), z: ids(0, 1, 1), mask: ids(1, 1, 0) },
    constants: {
      words: drawn(5, 6),
      places: drawn(8, 6),
      kinds: drawn(2, 6),
      g: drawn(6),
      b: drawn(6),
      from: whole(0),
      to: whole(3),
      axis: whole(1),
    },
    outputs: ["y", "count"],
  },
  ...ATTENTION_CASES,
  ...BYTES,
};

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`com.microsoft: ${name}`, () => checkCase(made));
}

Deno.test("every operator of com.microsoft has a case", () => {
  const ops = new Set(Object.values(CASES).map(({ given: { op } }) => op));
  assert.deepEqual([...ops].sort(), Object.keys(EXPANSIONS).sort());
});

Deno.test("what is left out of them is refused by name", () => {
  const refused: readonly (readonly [WrittenNode, RegExp])[] = [
    [
      contrib("FusedMatMul", ["x", "w"], ["y"], { transBatchA: 1 }),
      /\(FusedMatMul\): transBatchA is not supported/,
    ],
    [
      contrib("Attention", ["x", "w", "", "", "x"], ["y"], { num_heads: 1 }),
      /\(Attention\): a past or present state is not supported/,
    ],
    [
      contrib(
        "GroupQueryAttention",
        ["x", "x", "x", "", "", "w", "w"],
        ["y"],
        { num_heads: 1, kv_num_heads: 1, smooth_softmax: 1 },
      ),
      /\(GroupQueryAttention\): smooth_softmax is not supported/,
    ],
    [
      contrib(
        "GroupQueryAttention",
        ["x", "x", "x", "past", "past", "w", "w"],
        ["y"],
        { num_heads: 1, kv_num_heads: 1 },
      ),
      /\(GroupQueryAttention\): a past of a fixed size, which is filled in place, is not/,
    ],
    [
      contrib("MultiHeadAttention", ["x", "x", "x"], ["y", "k", "v"], {
        num_heads: 1,
      }),
      /\(MultiHeadAttention\): a present state without keys and values of the past/,
    ],
    [
      contrib(
        "MultiHeadAttention",
        ["x", "x", "x", "", "", "", "past", "past"],
        ["y", "k", "v", "more"],
        { num_heads: 1 },
      ),
      /\(MultiHeadAttention\): the products as a result is not supported/,
    ],
    [
      contrib("MultiHeadAttention", ["two", "x", "x"], ["y"], {
        num_heads: 1,
        unidirectional: 1,
      }),
      /\(MultiHeadAttention\): unidirectional with 2 queries and 5000 keys is not/,
    ],
    [
      contrib("Attention", ["x", "w"], ["y", "", "more"], { num_heads: 1 }),
      /\(Attention\): a past or present state is not supported/,
    ],
    [
      // Its columns are no three equal parts.
      contrib("Attention", ["x", "w4"], ["y"], { num_heads: 1 }),
      /\(Attention\): /,
    ],
    [
      contrib("Attention", ["x", "w"], ["y"], {
        num_heads: 1,
        unidirectional: 1,
      }),
      /\(Attention\): a sequence of 5000 tokens is not supported/,
    ],
    [
      contrib("QAttention", [...["x", "w", "w", "w", "w"], "", "", "", "past"]),
      /\(QAttention\): a past or present state is not supported/,
    ],
    [
      contrib("GatherBlockQuantized", ["w", "x", "w"], ["y"], {
        quantize_axis: 0,
      }),
      /\(GatherBlockQuantized\): quantize_axis 0 is not supported/,
    ],
    [
      contrib("GatherBlockQuantized", ["w", "x", "w"]),
      /weights are not 3 times 6 numbers of 4 bits in blocks of 128/,
    ],
    [
      contrib("GatherBlockQuantized", ["x", "w", "w"]),
      /\(GatherBlockQuantized\): its input 0 \(data\) is not constant/,
    ],
    [
      contrib("QLinearGlobalAveragePool", ["x", "w", "", "w"], ["y"], {
        channels_last: 1,
      }),
      /channels_last is not supported/,
    ],
    [
      contrib("Whatever", ["x"]),
      /no operator "Whatever" of version 1 in domain "com.microsoft"/,
    ],
  ];
  for (const [given, why] of refused) {
    const file = load(
      [given],
      {
        given,
        own: [],
        inputs: { x: drawn(1, 5000, 3) },
        constants: {
          w: drawn(3, 3),
          w4: drawn(3, 4),
          two: drawn(1, 2, 3),
          past: drawn(1, 1, 2, 3),
        },
        outputs: given.outputs.filter((name) => name !== ""),
      },
      new Map(),
      23,
    );
    assert.throws(
      () => onnxModel(file),
      (error) => error instanceof OnnxError && why.test(error.message),
      `${why}`,
    );
  }
});
