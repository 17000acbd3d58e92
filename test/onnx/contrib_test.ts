/** Operators of `com.microsoft`, beside what they stand for, written in ONNX's own. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { EXPANSIONS } from "../../src/onnx/contrib/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { drawn, whole } from "./cell_cases.ts";
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

/** Attention of 2 heads of 3 over 4 tokens, with what is added to scores. */
const parts = (
  [q, k, v]: readonly string[],
  added: string | undefined,
  scale = "scale",
): WrittenNode[] => [
  node("Reshape", [q, "heads"], ["q1"]),
  node("Transpose", ["q1"], ["q2"], { perm: [0, 2, 1, 3] }),
  node("Reshape", [k, "heads"], ["k1"]),
  node("Transpose", ["k1"], ["k2"], { perm: [0, 2, 3, 1] }),
  node("Reshape", [v, "heads"], ["v1"]),
  node("Transpose", ["v1"], ["v2"], { perm: [0, 2, 1, 3] }),
  node("MatMul", ["q2", "k2"], ["s"]),
  node("Mul", ["s", scale], ["s1"]),
  ...(added ? [node("Add", ["s1", added], ["s2"])] : []),
  node("Softmax", [added ? "s2" : "s1"], ["p"], { axis: -1 }),
  node("MatMul", ["p", "v2"], ["o"]),
  node("Transpose", ["o"], ["o1"], { perm: [0, 2, 1, 3] }),
  node("Reshape", ["o1", "rows"], ["y"]),
];
const PARTS = {
  heads: whole(1, 4, 2, 3),
  rows: whole(1, 4, 6),
  scale: float(1 / Math.sqrt(3)),
};

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
  RotaryEmbedding: {
    given: contrib("RotaryEmbedding", ["x", "at", "cos", "sin"], ["y"], {
      interleaved: 1,
    }),
    own: [
      node("RotaryEmbedding", ["x", "cos", "sin", "places"], ["y"], {
        interleaved: 1,
        num_heads: 2,
      }),
    ],
    inputs: { x: drawn(1, 3, 8) },
    constants: {
      at: whole(2),
      places: plainOf("int64", [1, 3], [2, 3, 4]),
      cos: drawn(6, 2),
      sin: drawn(6, 2),
    },
  },
  Attention: {
    given: contrib("Attention", ["x", "w", "b", "mask"], ["y"], {
      num_heads: 2,
    }),
    own: [
      node("MatMul", ["x", "w"], ["a"]),
      node("Add", ["a", "b"], ["c"]),
      node("Split", ["c"], ["q", "k", "v"], { axis: -1, num_outputs: 3 }),
      ...parts(["q", "k", "v"], "added"),
    ],
    inputs: { x: drawn(1, 4, 5) },
    constants: {
      ...PARTS,
      w: drawn(5, 18),
      b: drawn(18),
      mask: ids(1, 1, 1, 0),
      added: plainOf("float32", [1, 1, 1, 4], [0, 0, 0, -10000]),
    },
  },
  "Attention, by lengths": {
    given: contrib("Attention", ["x", "w", "", "count"], ["y"], {
      num_heads: 2,
    }),
    own: [
      node("MatMul", ["x", "w"], ["c"]),
      node("Split", ["c"], ["q", "k", "v"], { axis: -1, num_outputs: 3 }),
      ...parts(["q", "k", "v"], "added"),
    ],
    inputs: { x: drawn(1, 4, 5) },
    constants: {
      ...PARTS,
      w: drawn(5, 18),
      count: plainOf("int32", [1], [2]),
      added: plainOf("float32", [1, 1, 1, 4], [0, 0, -10000, -10000]),
    },
  },
  MultiHeadAttention: {
    given: contrib("MultiHeadAttention", ["x", "k0", "v0", "b"], ["y"], {
      num_heads: 2,
      unidirectional: 1,
      scale: { float: 0.4 },
    }),
    own: [
      node("Add", ["x", "b0"], ["q"]),
      node("Add", ["k0", "b1"], ["k"]),
      node("Add", ["v0", "b2"], ["v"]),
      ...parts(["q", "k", "v"], "added", "other"),
    ],
    inputs: { x: drawn(1, 4, 6), k0: drawn(1, 4, 6), v0: drawn(1, 4, 6) },
    constants: {
      ...PARTS,
      other: float(0.4),
      b: plainOf("float32", [18], Array.from({ length: 18 }, (_, i) => i / 9)),
      ...Object.fromEntries([0, 1, 2].map((part) => [
        `b${part}`,
        plainOf(
          "float32",
          [6],
          Array.from({ length: 6 }, (_, i) => (6 * part + i) / 9),
        ),
      ])),
      added: plainOf(
        "float32",
        [4, 4],
        Array.from({ length: 16 }, (_, i) => i % 4 > i >> 2 ? -1e30 : 0),
      ),
    },
  },
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
        constants: { w: drawn(3, 3), w4: drawn(3, 4) },
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
