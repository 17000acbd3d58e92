/**
 * Naive recurrent cells in double precision, straight from their definitions; ONNX
 * layouts and gate orders, row-major. One row at a time: a row knows no batch.
 */
import { sigmoid } from "./activation.ts";

type Numbers = ArrayLike<number>;

/** Row j of a row-major matrix times a vector. */
function dot(matrix: Numbers, j: number, x: Numbers): number {
  let sum = 0;
  for (let i = 0; i < x.length; ++i) sum += matrix[j * x.length + i] * x[i];
  return sum;
}

/** State of an LSTM-like cell. */
export interface CellState {
  h: Float64Array;
  c: Float64Array;
}

/** ONNX weights: w [gates * hidden][input], r [gates * hidden][hidden], b both biases. */
export interface NaiveWeights {
  w: Numbers;
  r: Numbers;
  b: Numbers;
}

/** One LSTM step of one row (ONNX LSTM, gates i, o, f, c). */
export function lstmStep(
  weights: NaiveWeights,
  x: Numbers,
  h: Numbers,
  c: Numbers,
): CellState {
  const hidden = h.length;
  const { w, r, b } = weights;
  const gate = (g: number, unit: number) => {
    const j = g * hidden + unit;
    return b[j] + b[4 * hidden + j] + dot(w, j, x) + dot(r, j, h);
  };
  const next = { h: new Float64Array(hidden), c: new Float64Array(hidden) };
  for (let u = 0; u < hidden; ++u) {
    next.c[u] = sigmoid(gate(2, u)) * c[u] +
      sigmoid(gate(0, u)) * Math.tanh(gate(3, u));
    next.h[u] = sigmoid(gate(1, u)) * Math.tanh(next.c[u]);
  }
  return next;
}

/** One GRU step of one row (ONNX GRU, gates z, r, h, linear_before_reset = 1); blends `state`, h unless said. */
export function gruStep(
  { w, r, b }: NaiveWeights,
  x: Numbers,
  h: Numbers,
  state = h,
): Float64Array {
  const hidden = h.length;
  const overX = (g: number, u: number) =>
    b[g * hidden + u] + dot(w, g * hidden + u, x);
  const overH = (g: number, u: number) =>
    b[(3 + g) * hidden + u] + dot(r, g * hidden + u, h);
  return Float64Array.from({ length: hidden }, (_, u) => {
    const update = sigmoid(overX(0, u) + overH(0, u));
    const reset = sigmoid(overX(1, u) + overH(1, u));
    const candidate = Math.tanh(overX(2, u) + reset * overH(2, u));
    return (1 - update) * candidate + update * state[u];
  });
}

/** A TreeLSTM leaf (Tai et al. 2015), gates i, o, u of x: w [3 * hidden][input], b [3 * hidden]. */
export function treeLeaf(w: Numbers, b: Numbers, x: Numbers): CellState {
  const hidden = b.length / 3;
  const gate = (g: number, u: number) =>
    b[g * hidden + u] + dot(w, g * hidden + u, x);
  const c = Float64Array.from(
    { length: hidden },
    (_, u) => sigmoid(gate(0, u)) * Math.tanh(gate(2, u)),
  );
  return { c, h: c.map((value, u) => sigmoid(gate(1, u)) * Math.tanh(value)) };
}

/**
 * An N-ary TreeLSTM internal node, gates i, f_1 .. f_N, o, u of [h_1 | ... | h_N]:
 * r [(3 + N) * hidden][N * hidden], b [(3 + N) * hidden].
 */
export function treeInternal(
  { r, b }: { r: Numbers; b: Numbers },
  h: readonly Numbers[],
  c: readonly Numbers[],
): CellState {
  const arity = h.length;
  const hidden = h[0].length;
  const children = h.flatMap((row) => Array.from(row));
  const gate = (g: number, u: number) =>
    b[g * hidden + u] + dot(r, g * hidden + u, children);
  const state = Float64Array.from({ length: hidden }, (_, u) => {
    const fresh = sigmoid(gate(0, u)) * Math.tanh(gate(2 + arity, u));
    return c.reduce(
      (sum, row, l) => sum + sigmoid(gate(1 + l, u)) * row[u],
      fresh,
    );
  });
  return {
    c: state,
    h: state.map((value, u) => sigmoid(gate(1 + arity, u)) * Math.tanh(value)),
  };
}
