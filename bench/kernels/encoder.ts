/**
 * A Transformer encoder layer, 768 wide, 12 heads, 3072 inside, post-norm, GELU (tanh), as in
 * BERT base: `batch` sequences of `tokens` each; nobody is padded.
 */
import type { Prng } from "../../src/base/prng.ts";
import { floatsOf } from "../../test/kernels/equivalent.ts";
import { ACTIVATIONS } from "../../src/kernels/module/activations.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import type { Task } from "./task.ts";

const [WIDTH, HEADS, INNER] = [768, 12, 3072];
const HEAD = WIDTH / HEADS;
const EPSILON = 1e-5;

/** Numbers in (-scale, scale). */
function draw(prng: Prng, length: number, scale = 1): Float32Array {
  return Float32Array.from({ length }, () => (prng.float() * 2 - 1) * scale);
}

/** The layer as something to time. */
export function encodeLayer(
  prng: Prng,
  tokens: number,
  batch: number,
): Task {
  const m = tokens * batch;
  const x = draw(prng, m * WIDTH);
  const matrix = (n: number, k: number) => ({
    n,
    k,
    weight: draw(prng, n * k, 1 / Math.sqrt(k)),
    bias: draw(prng, n, 0.1),
  });
  const layers = {
    q: matrix(WIDTH, WIDTH),
    k: matrix(WIDTH, WIDTH),
    v: matrix(WIDTH, WIDTH),
    o: matrix(WIDTH, WIDTH),
    up: matrix(INNER, WIDTH),
    down: matrix(WIDTH, INNER),
  };
  const gamma = draw(prng, WIDTH);
  const beta = draw(prng, WIDTH);
  const scale = 1 / Math.sqrt(HEAD);
  const weights = 4 * WIDTH * WIDTH + 2 * WIDTH * INNER;
  const shape = [batch, tokens, WIDTH];
  const dense = (name: keyof typeof layers, input: string, output: string) => [
    { opType: "MatMul", inputs: [input, `${name}W`], outputs: [`${output}0`] },
    { opType: "Add", inputs: [`${output}0`, `${name}B`], outputs: [output] },
  ];
  const split = (name: string, perm: readonly number[]) => [
    { opType: "Reshape", inputs: [name, "heads"], outputs: [`${name}1`] },
    {
      opType: "Transpose",
      inputs: [`${name}1`],
      outputs: [`${name}2`],
      attributes: { perm },
    },
  ];
  const norm = (input: string, output: string) => ({
    opType: "LayerNormalization",
    inputs: [input, "gamma", "beta"],
    outputs: [output],
    attributes: { axis: 2, epsilon: { float: EPSILON } },
  });
  return {
    area: "encoder layer",
    label: `${tokens} tokens, batch ${batch}`,
    count: 2 * m * weights + 4 * m * tokens * WIDTH,
    unit: "GFLOP/s",
    bytes: 4 * (weights + 2 * m * WIDTH),
    own(own) {
      const { kernels } = own;
      const packed = Object.fromEntries(
        Object.entries(layers).map(([name, { n, k, weight, bias }]) => [
          name,
          own.put(packGemm({ n, k, weight, layout: "kn", bias })),
        ]),
      ) as Record<keyof typeof layers, number>;
      const [g, b] = [own.put(gamma), own.put(beta)];
      const input = own.rows(m, WIDTH, x);
      const [q, k, v, mixed, first, out] = Array.from(
        { length: 6 },
        () => own.rows(m, WIDTH),
      ) as [
        ReturnType<typeof own.rows>,
        ReturnType<typeof own.rows>,
        ReturnType<typeof own.rows>,
        ReturnType<typeof own.rows>,
        ReturnType<typeof own.rows>,
        ReturnType<typeof own.rows>,
      ];
      const inner = own.rows(m, INNER);
      const capacity = Math.ceil(tokens / 8) * 8;
      const caches = Array.from(
        { length: 2 },
        () => own.alloc(4 * batch * capacity * WIDTH),
      );
      const perRow = (value: (sequence: number, position: number) => number) =>
        own.put(
          Int32Array.from(
            { length: m },
            (_, i) => value(Math.floor(i / tokens), i % tokens),
          ),
        );
      const [keys, values] = caches.map((cache) =>
        perRow((sequence) => cache + 4 * sequence * capacity * WIDTH)
      ) as [number, number];
      const positions = perRow((_, position) => position);
      const lengths = perRow(() => tokens);
      const scratch = own.alloc(kernels.attention_scratch_bytes(capacity));
      const gemm = (
        name: keyof typeof layers,
        from: { table: number },
        to: { table: number },
        act: number = ACTIVATIONS.none,
      ) => {
        const { n, k } = layers[name];
        kernels.gemm_f32(
          m,
          n,
          k,
          from.table,
          0,
          0,
          packed[name],
          to.table,
          act,
        );
      };
      const add = (
        name: keyof typeof layers,
        from: { table: number },
        residual: { table: number },
        to: { table: number },
      ) => {
        const { n, k } = layers[name];
        kernels.gemm_residual_f32(
          ...[m, n, k, from.table, 0, 0, packed[name]] as const,
          ...[residual.table, to.table, ACTIVATIONS.none] as const,
        );
        kernels.layer_norm_f32(m, WIDTH, to.table, g, b, EPSILON, to.table);
      };
      return {
        run() {
          gemm("q", input, q);
          gemm("k", input, k);
          gemm("v", input, v);
          kernels.attention_append_f32(
            ...[m, WIDTH, WIDTH, k.table, v.table] as const,
            ...[positions, keys, values] as const,
          );
          kernels.attention_f32(
            ...[m, HEADS, HEADS, HEAD, capacity, scale, 0, q.table] as const,
            ...[keys, values, lengths, 0, mixed.table, scratch] as const,
          );
          add("o", mixed, input, first);
          gemm("up", first, inner, ACTIVATIONS.geluTanh);
          add("down", inner, first, out);
        },
        bits: () =>
          new Uint32Array(
            out.view.buffer,
            out.view.byteOffset,
            out.view.length,
          ),
      };
    },
    equivalent: () => ({
      nodes: [
        ...dense("q", "x", "q"),
        ...dense("k", "x", "k"),
        ...dense("v", "x", "v"),
        ...split("q", [0, 2, 1, 3]),
        ...split("k", [0, 2, 3, 1]),
        ...split("v", [0, 2, 1, 3]),
        { opType: "MatMul", inputs: ["q2", "k2"], outputs: ["s0"] },
        { opType: "Mul", inputs: ["s0", "scale"], outputs: ["s1"] },
        {
          opType: "Softmax",
          inputs: ["s1"],
          outputs: ["s2"],
          attributes: { axis: 3 },
        },
        { opType: "MatMul", inputs: ["s2", "v2"], outputs: ["c0"] },
        {
          opType: "Transpose",
          inputs: ["c0"],
          outputs: ["c1"],
          attributes: { perm: [0, 2, 1, 3] },
        },
        { opType: "Reshape", inputs: ["c1", "joined"], outputs: ["c2"] },
        ...dense("o", "c2", "o"),
        { opType: "Add", inputs: ["o", "x"], outputs: ["r1"] },
        norm("r1", "n1"),
        ...dense("up", "n1", "u"),
        {
          opType: "FastGelu",
          domain: "com.microsoft",
          inputs: ["u"],
          outputs: ["u1"],
        },
        ...dense("down", "u1", "d"),
        { opType: "Add", inputs: ["d", "n1"], outputs: ["r2"] },
        norm("r2", "y"),
      ],
      constants: [
        ...Object.entries(layers).flatMap(([name, { n, k, weight, bias }]) => [
          { name: `${name}W`, shape: [k, n], data: weight },
          { name: `${name}B`, shape: [n], data: bias },
        ]),
        { name: "gamma", shape: [WIDTH], data: gamma },
        { name: "beta", shape: [WIDTH], data: beta },
        { name: "scale", shape: [], data: Float32Array.of(scale) },
        {
          name: "heads",
          shape: [4],
          type: "i64",
          data: BigInt64Array.from([batch, tokens, HEADS, HEAD].map(BigInt)),
        },
        {
          name: "joined",
          shape: [3],
          type: "i64",
          data: BigInt64Array.from([batch, tokens, WIDTH].map(BigInt)),
        },
      ],
      inputs: [{ name: "x", shape, data: x }],
      outputs: [{ name: "y", shape, of: floatsOf("y") }],
      tolerance: 1e-3,
    }),
  };
}
