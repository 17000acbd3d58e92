/** Every kernel is reached by an operator; ranges of hidden units are for teams, which cut steps into them. */
import assert from "node:assert/strict";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import { kernelsOf } from "../../src/engine/wall/warm_up.ts";
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  i32,
  image,
  type Operators,
  row,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import type { QuantizedTensor } from "../../src/tensor/quantized.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";

const ones = (...shape: number[]): Tensor =>
  tensor(shape, new Float32Array(elementCount(shape)).fill(1));
const bytes = (...shape: number[]): QuantizedTensor => ({
  shape,
  data: new Int8Array(elementCount(shape)),
  scale: Float32Array.of(1),
});
const range = { scale: 1, zero: 0 };
const window = { kernelShape: 2 };

/** Over x [4][8], an image of 4 x 4 x 2 and an id. */
const BODIES: readonly ((
  op: Operators,
  given: { x: Value; picture: Value; id: Value },
) => Record<string, Value>)[] = [
  (op, { x }) => ({ y: op.Gemm(x, ones(8, 8)) }),
  (op, { x }) => ({ y: op.Add(op.Gemm(x, ones(8, 8)), x) }),
  (op, { x }) => ({ y: op.MatMul(x, x, { transposed: true }) }),
  (op, { x }) => {
    const spectrum = op.RFFT(op.Reshape(x, [32]));
    return { y: op.IRFFT(spectrum), magnitude: op.Magnitude(spectrum) };
  },
  (op, { x }) => ({ y: op.ArgMax(op.Gemm(x, ones(8, 8))) }),
  (op, { x }) => ({ y: op.ArgMax(x), ...op.TopK(x, 2) }),
  (op, { x }) => {
    const plain = op.Slice(op.Reshape(x, [32]), 0, 8);
    const step = { w: ones(32, 8), r: ones(32, 8) };
    const { h, c } = op.LSTM(plain, plain, plain, step);
    const q8 = { w: bytes(32, 8), r: bytes(32, 8) };
    const { h: quantized } = op.DynamicQuantizeLSTM(plain, h, c, q8);
    const three = { w: ones(24, 8), r: ones(24, 8) };
    const gru = op.GRU(plain, quantized, three);
    const gates = { w: bytes(24, 8), r: bytes(24, 8) };
    return { y: op.DynamicQuantizeGRU(plain, gru, gates) };
  },
  (op, { x }) => {
    const plain = op.Reshape(x, [32]);
    const leaf = op.TreeLSTMLeaf(plain, { w: ones(12, 32) });
    return op.TreeLSTMNode([leaf.h], [leaf.c], { u: ones(16, 4) });
  },
  (op, { x }) => ({
    a: op.Softmax(x),
    b: op.LayerNormalization(x, { scale: ones(8) }),
    c: op.RMSNormalization(x, { scale: ones(8) }),
    d: op.Transpose(x, [1, 0]),
    e: op.Transpose(op.Reshape(x, [2, 4, 4]), [1, 0, 2]),
    f: x,
  }),
  (op, { x, id }) => ({
    a: op.Gather(ones(3, 4), id),
    b: op.Relu(x),
    c: op.Sigmoid(x),
    d: op.Tanh(x),
    e: op.Exp(x),
    f: op.Erf(x),
    g: op.Gelu(x),
    h: op.GeluTanh(x),
    i: op.Swish(x),
    j: op.Sqrt(x),
    k: op.Neg(x),
    l: op.Abs(x),
  }),
  (op, { x }) => ({
    a: op.Add(x, x),
    b: op.Sub(x, x),
    c: op.Mul(x, x),
    d: op.Div(x, x),
    e: op.Max(x, x),
    f: op.Min(x, x),
  }),
  (op, { picture: x }) => ({
    a: op.Conv(x, ones(3, 2, 2, 2)),
    b: op.Conv(x, ones(2, 1, 2, 2), { group: 2 }),
    c: op.ConvTranspose(x, ones(2, 3, 2, 2)),
    d: op.MaxPool(x, window),
    e: op.AveragePool(x, window),
    f: op.Resize(x, 8, 8),
    g: op.Resize(x, 8, 8, { mode: "linear" }),
  }),
  (op, { x, picture }) => {
    const q = op.DynamicQuantizeLinear(x);
    const image = op.QuantizeLinear(picture, range);
    const kernel = bytes(3, 2, 2, 2);
    return {
      a: op.MatMulInteger(q, bytes(4, 8)),
      g: op.DynamicMatMulInteger(q, q, { transposed: true }),
      b: op.MatMulIntegerToFloat(q, bytes(4, 8)),
      c: op.DequantizeLinear(op.QLinearMatMul(q, bytes(4, 8), range)),
      d: op.ConvInteger(image, kernel),
      e: op.ConvIntegerToFloat(image, kernel),
      f: op.DequantizeLinear(op.QLinearConv(image, kernel, range)),
    };
  },
];

function attention(): Cell {
  return defineCell({
    name: "attention",
    inputs: { q: f32(4), k: f32(4), v: f32(4) },
    caches: { seen: { keyWidth: 4, valueWidth: 4, positionsMax: 8 } },
    body: (op, { q, k, v }, { seen }) => {
      op.CacheAppend(k, v, seen);
      return {
        y: op.Attention(q, seen, { heads: 1 }),
        z: op.AdditiveAttention(q, seen, ones(4)),
      };
    },
  });
}

Deno.test("every kernel is reached by an operator", () => {
  const cells = BODIES.map((body, i) =>
    defineCell({
      name: `cell ${i}`,
      inputs: { x: row("f32", [4, 8]), picture: image(4, 4, 2), id: i32() },
      body,
    })
  );
  const reached = kernelsOf(
    [...cells, attention()].map((cell) => lowerCell(cell, () => 0)),
  );
  // What calls may be cut into is reached through what is cut.
  const parts = new Set(
    KERNEL_NAMES.flatMap((name) => {
      const { cuts } = KERNEL_SPECS[name];
      return cuts === "whole"
        ? []
        : cuts.flatMap((cut) => cut.by === "units" ? [cut.kernel] : []);
    }),
  );
  assert.deepEqual(
    KERNEL_NAMES.filter((name) => !reached.has(name) && !parts.has(name)),
    [],
  );
});
