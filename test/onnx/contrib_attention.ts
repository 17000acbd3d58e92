/** Attention and rotary positions of `com.microsoft`, and what they stand for. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { drawn, whole } from "./cell_cases.ts";
import { type Case, contrib, float, ids } from "./contrib_cases.ts";
import { node, type WrittenNode } from "./write_model.ts";

/** Attention of 2 heads of 3 of 4 tokens, with what is added to scores. */
export const parts = (
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
export const PARTS = {
  heads: whole(1, -1, 2, 3),
  rows: whole(1, 4, 6),
  scale: float(1 / Math.sqrt(3)),
};

export const ATTENTION_CASES: Readonly<Record<string, Case>> = {
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
  "MultiHeadAttention, by lengths": {
    given: contrib(
      "MultiHeadAttention",
      ["x", "k", "v", "", "count"],
      ["y"],
      { num_heads: 2 },
    ),
    own: parts(["x", "k", "v"], "added"),
    inputs: { x: drawn(1, 4, 6), k: drawn(1, 5, 6), v: drawn(1, 5, 6) },
    constants: {
      ...PARTS,
      count: plainOf("int32", [1], [3]),
      added: plainOf("float32", [1, 1, 1, 5], [0, 0, 0, -10000, -10000]),
    },
  },
  "MultiHeadAttention, with a past": {
    given: contrib(
      "MultiHeadAttention",
      ["x", "k0", "v0", "", "mask", "bias", "pastK", "pastV"],
      ["y", "k", "v"],
      { num_heads: 2 },
    ),
    own: [
      node(
        "Attention",
        ["x", "k0", "v0", "added", "pastK", "pastV"],
        ["y", "k", "v"],
        { q_num_heads: 2, kv_num_heads: 2 },
      ),
    ],
    inputs: {
      ...{ x: drawn(1, 2, 6), k0: drawn(1, 2, 6), v0: drawn(1, 2, 6) },
      ...{ pastK: drawn(1, 2, 3, 3), pastV: drawn(1, 2, 3, 3) },
    },
    constants: {
      mask: ids(1, 0, 1, 1, 1),
      bias: plainOf("float32", [1, 2, 2, 5], Array(20).fill(0.25)),
      added: plainOf(
        "float32",
        [1, 1, 1, 5],
        [0.25, 0.25 - 10000, 0.25, 0.25, 0.25],
      ),
    },
    outputs: ["y", "k", "v"],
  },
  GroupQueryAttention: {
    given: contrib(
      "GroupQueryAttention",
      ["x", "k0", "v0", "", "", "last", "total", "cos", "sin"],
      ["y"],
      {
        ...{ num_heads: 4, kv_num_heads: 2, do_rotary: 1 },
        ...{ scale: { float: 0.4 }, softcap: { float: 0.5 } },
      },
    ),
    own: [
      node("RotaryEmbedding", ["x", "cos", "sin", "places"], ["q"], {
        num_heads: 4,
      }),
      node("RotaryEmbedding", ["k0", "cos", "sin", "places"], ["k"], {
        num_heads: 2,
      }),
      node("Attention", ["q", "k", "v0"], ["y"], {
        ...{ q_num_heads: 4, kv_num_heads: 2, is_causal: 1 },
        ...{ scale: { float: 0.4 }, softcap: { float: 0.5 } },
      }),
    ],
    inputs: {
      ...{ x: drawn(1, 3, 16), k0: drawn(1, 3, 8), v0: drawn(1, 3, 8) },
    },
    constants: {
      last: plainOf("int32", [1], [2]),
      total: plainOf("int32", [], [3]),
      places: plainOf("int64", [1, 3], [0, 1, 2]),
      cos: drawn(6, 2),
      sin: drawn(6, 2),
    },
  },
  "GroupQueryAttention, of one product": {
    given: contrib(
      "GroupQueryAttention",
      ["x", "", "", "", "", "last", "total", "cos", "sin", "places", "bias"],
      ["y"],
      {
        ...{ num_heads: 2, kv_num_heads: 1, do_rotary: 1 },
        rotary_interleaved: 1,
      },
    ),
    own: [
      node("Split", ["x", "widths"], ["q0", "k0", "v"], { axis: -1 }),
      node("RotaryEmbedding", ["q0", "cos", "sin", "places"], ["q"], {
        ...{ num_heads: 2, interleaved: 1, rotary_embedding_dim: 4 },
      }),
      node("RotaryEmbedding", ["k0", "cos", "sin", "places"], ["k"], {
        ...{ num_heads: 1, interleaved: 1, rotary_embedding_dim: 4 },
      }),
      node("Attention", ["q", "k", "v", "added"], ["y"], {
        ...{ q_num_heads: 2, kv_num_heads: 1, is_causal: 1 },
      }),
    ],
    inputs: { x: drawn(1, 3, 24) },
    constants: {
      // The last token is none.
      last: plainOf("int32", [1], [1]),
      total: plainOf("int32", [], [3]),
      places: plainOf("int64", [1, 3], [5, 0, 3]),
      cos: drawn(6, 2),
      sin: drawn(6, 2),
      widths: whole(12, 6, 6),
      bias: plainOf("float32", [1, 1, 3, 3], Array(9).fill(-0.5)),
      added: plainOf(
        "float32",
        [1, 1, 3, 3],
        Array.from({ length: 9 }, (_, i) => i % 3 === 2 ? -1e30 : -0.5),
      ),
    },
  },
  "RotaryEmbedding, of heads in part": {
    given: contrib("RotaryEmbedding", ["x", "places", "cos", "sin"], ["y"], {
      ...{ rotary_embedding_dim: 4, num_heads: 2 },
    }),
    own: [
      node("RotaryEmbedding", ["x", "cos", "sin", "places"], ["y"], {
        rotary_embedding_dim: 4,
      }),
    ],
    inputs: { x: drawn(1, 2, 3, 6) },
    constants: {
      places: plainOf("int64", [1, 3], [5, 0, 3]),
      cos: drawn(6, 2),
      sin: drawn(6, 2),
    },
  },
};
