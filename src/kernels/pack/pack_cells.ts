/**
 * Packing of the recurrent cells' weights. Gate rows arrive in ONNX order (LSTM i, o, f,
 * c; GRU z, r, h) and leave in the order in which the fused kernels finish them.
 */
import { knownOptions } from "../../base/options.ts";
import {
  type Column,
  type Columns,
  paddedColumns,
  panelsFor,
  piecedFloats,
  piecesOf,
  writePanels,
} from "./panels.ts";
import { checkLength, checkSize, rowColumn } from "./pack_gemm.ts";

/** Sizes of a cell that reads x and its own state. */
export interface CellSize {
  /** Hidden units: elements of h and c. */
  hidden: number;
  /** Columns of x. */
  inputSize: number;
}

/** ONNX weights of one direction of an LSTM (4 gates) or GRU (3 gates). */
export interface CellWeights extends CellSize {
  /** [gates * hidden][inputSize] */
  w: Float32Array;
  /** [gates * hidden][hidden] */
  r: Float32Array;
  /** [2 * gates * hidden]: input biases, then recurrent biases; zeros if absent. */
  b?: Float32Array;
}

/** Floats of packed LSTM weights. */
export function packedLstmFloats({ hidden, inputSize }: CellSize): number {
  return 4 * piecedFloats(panelsFor(hidden), inputSize + hidden);
}

/**
 * Packs ONNX LSTM weights (gates i, o, f, c) for `lstm_step_f32`.
 * @returns its `w`, as f32
 * @throws {RangeError} if a size is too small or an array has not as many elements as it says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packLstm,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const [hidden, inputSize] = [2, 3];
 * const weights = {
 *   w: new Float32Array(4 * hidden * inputSize),
 *   r: new Float32Array(4 * hidden * hidden),
 * };
 * const w = host.block(packLstm({ hidden, inputSize, ...weights }));
 * const x = host.rows(1, inputSize, Float32Array.of(1, 2, 3));
 * const h = host.rows(1, hidden, Float32Array.of(0, 0));
 * const c = host.rows(1, hidden, Float32Array.of(2, 4));
 * const [hOut, cOut] = [host.rows(1, hidden, "f32"), host.rows(1, hidden, "f32")];
 * host.call("lstm_step_f32", {
 *   ...{ hidden, kx: inputSize, xRows: x, hRows: h, cRows: c, w },
 *   ...{ hOutRows: hOut, cOutRows: cOut },
 * });
 * // Gates of zeros are half open.
 * assert.deepEqual([...host.read(cOut)], [1, 2]);
 * ```
 */
export function packLstm(options: CellWeights): Float32Array {
  const { hidden } = options;
  const gate = cellGates(options, 4);
  const [i, o, f, c] = [0, 1, 2, 3];
  return packSweeps(
    packedLstmFloats(options),
    [i, c, f, o].map((g) => paddedColumns(hidden, gate(g))),
  );
}

/** Floats of packed GRU weights. */
export function packedGruFloats({ hidden, inputSize }: CellSize): number {
  const panels = panelsFor(hidden);
  return 2 * piecedFloats(panels, inputSize + hidden) +
    piecedFloats(panels, hidden) +
    piecedFloats(panels, inputSize);
}

/**
 * Packs ONNX GRU weights (gates z, r, h) for `gru_step_f32`, which computes
 * linear_before_reset = 1: the candidate's two biases stay apart.
 * @returns its `w`, as f32
 * @throws {RangeError} if a size is too small or an array has not as many elements as it says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packGru,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const [hidden, inputSize] = [2, 3];
 * const weights = {
 *   w: new Float32Array(3 * hidden * inputSize),
 *   r: new Float32Array(3 * hidden * hidden),
 * };
 * const w = host.block(packGru({ hidden, inputSize, ...weights }));
 * const x = host.rows(1, inputSize, Float32Array.of(1, 2, 3));
 * const h = host.rows(1, hidden, Float32Array.of(2, 4));
 * const hOut = host.rows(1, hidden, "f32");
 * host.call("gru_step_f32", {
 *   ...{ hidden, kx: inputSize, xRows: x, hRows: h, w, hOutRows: hOut },
 * });
 * // Half of the old state, and half of a candidate of zeros.
 * assert.deepEqual([...host.read(hOut)], [1, 2]);
 * ```
 */
export function packGru(options: CellWeights): Float32Array {
  const { hidden, inputSize, w, r, b } = options;
  const gate = cellGates(options, 3);
  const candidate = 2 * hidden;
  const [inputBias, recurrentBias] = [
    b?.subarray(0, 3 * hidden),
    b?.subarray(3 * hidden),
  ];
  return packSweeps(packedGruFloats(options), [
    paddedColumns(hidden, gate(1)),
    paddedColumns(
      hidden,
      (u) =>
        rowColumn(candidate + u, [{ source: r, width: hidden }], [
          recurrentBias,
        ]),
    ),
    paddedColumns(
      hidden,
      (u) =>
        rowColumn(candidate + u, [{ source: w, width: inputSize }], [
          inputBias,
        ]),
    ),
    paddedColumns(hidden, gate(0)),
  ]);
}

/** Weights of a TreeLSTM leaf, gates i, o, u. */
export interface TreeLeafWeights extends CellSize {
  /** [3 * hidden][inputSize] */
  w: Float32Array;
  /** [3 * hidden]; zeros if absent. */
  b?: Float32Array;
}

/** Floats of packed TreeLSTM leaf weights. */
export function packedTreeLeafFloats({ hidden, inputSize }: CellSize): number {
  return 3 * piecedFloats(panelsFor(hidden), inputSize);
}

/**
 * Packs leaf weights (gates i, o, u) for `tree_leaf_f32`.
 * @returns its `w`, as f32
 * @throws {RangeError} if a size is too small or an array has not as many elements as it says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packTreeLeaf,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const [hidden, inputSize] = [1, 2];
 * const w = host.block(packTreeLeaf({
 *   hidden,
 *   inputSize,
 *   // u sees the sum of x, i and o see nothing.
 *   w: Float32Array.of(0, 0, 0, 0, 1, 1),
 * }));
 * const x = host.rows(1, inputSize, Float32Array.of(0.25, 0.5));
 * const [hOut, cOut] = [host.rows(1, hidden, "f32"), host.rows(1, hidden, "f32")];
 * host.call("tree_leaf_f32", {
 *   ...{ hidden, kx: inputSize, xRows: x, w },
 *   ...{ hOutRows: hOut, cOutRows: cOut },
 * });
 * const [c] = host.read(cOut);
 * assert(Math.abs(c - 0.5 * Math.tanh(0.75)) < 1e-6);
 * ```
 */
export function packTreeLeaf(options: TreeLeafWeights): Float32Array {
  knownOptions("packTreeLeaf", options, ["hidden", "inputSize", "w", "b"]);
  const { hidden, inputSize, w, b } = options;
  checkSize("hidden", hidden, 1);
  checkSize("inputSize", inputSize, 1);
  checkLength("w", w, 3 * hidden * inputSize);
  if (b !== undefined) checkLength("b", b, 3 * hidden);
  const gate = (g: number) => (unit: number) =>
    rowColumn(g * hidden + unit, [{ source: w, width: inputSize }], [b]);
  const [i, o, u] = [0, 1, 2];
  return packSweeps(
    packedTreeLeafFloats(options),
    [i, u, o].map((g) => paddedColumns(hidden, gate(g))),
  );
}

/** Sizes of a TreeLSTM internal node. */
export interface TreeInternalSize {
  /** Hidden units: elements of h and c. */
  hidden: number;
  /** Children, 1 to 8. */
  arity: number;
}

/** Weights of a TreeLSTM internal node, gates i, f_1 .. f_arity, o, u. */
export interface TreeInternalWeights extends TreeInternalSize {
  /** [(3 + arity) * hidden][arity * hidden], columns h_1 .. h_arity. */
  r: Float32Array;
  /** [(3 + arity) * hidden]; zeros if absent. The paper shares one bias among the f_l: repeat it. */
  b?: Float32Array;
}

/** Floats of packed TreeLSTM internal weights. */
export function packedTreeInternalFloats(
  { hidden, arity }: TreeInternalSize,
): number {
  return (3 + arity) * piecedFloats(panelsFor(hidden), arity * hidden);
}

/**
 * Packs internal weights (gates i, f_1 .. f_arity, o, u) for `tree_internal_f32`.
 * @returns its `w`, as f32
 * @throws {RangeError} if a size is too small, the arity above 8, or an array has not as many elements as it says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packTreeInternal,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const [hidden, arity] = [2, 2];
 * const r = new Float32Array((3 + arity) * hidden * arity * hidden);
 * const w = host.block(packTreeInternal({ hidden, arity, r }));
 * const h = host.rows(1, hidden, Float32Array.of(1, 1));
 * const c = host.rows(1, hidden, Float32Array.of(2, 4));
 * const [hOut, cOut] = [host.rows(1, hidden, "f32"), host.rows(1, hidden, "f32")];
 * host.call("tree_internal_f32", {
 *   ...{ hidden, arity, w, hRowsTables: [h, h], cRowsTables: [c, c] },
 *   ...{ hOutRows: hOut, cOutRows: cOut },
 * });
 * // Half of each child's memory.
 * assert.deepEqual([...host.read(cOut)], [2, 4]);
 * ```
 */
export function packTreeInternal(options: TreeInternalWeights): Float32Array {
  knownOptions("packTreeInternal", options, ["hidden", "arity", "r", "b"]);
  const { hidden, arity, r, b } = options;
  checkSize("hidden", hidden, 1);
  checkSize("arity", arity, 1);
  if (arity > 8) {
    throw new RangeError(
      `Cannot pack weights: arity must be at most 8, is ${arity}`,
    );
  }
  const width = arity * hidden;
  checkLength("r", r, (3 + arity) * hidden * width);
  if (b !== undefined) checkLength("b", b, (3 + arity) * hidden);
  const gate = (g: number) => (unit: number) =>
    rowColumn(g * hidden + unit, [{ source: r, width }], [b]);
  const [i, o, u] = [0, 1 + arity, 2 + arity];
  const forget = Array.from({ length: arity }, (_, l) => 1 + l);
  return packSweeps(
    packedTreeInternalFloats(options),
    [i, u, ...forget, o].map((g) => paddedColumns(hidden, gate(g))),
  );
}

/** Checks an LSTM's or GRU's arrays and returns the columns of gate g over [x | h]. */
function cellGates(
  options: CellWeights,
  gates: number,
): (g: number) => (unit: number) => Column {
  knownOptions("A cell's packer", options, [
    "hidden",
    "inputSize",
    "w",
    "r",
    "b",
  ]);
  const { hidden, inputSize, w, r, b } = options;
  checkSize("hidden", hidden, 1);
  checkSize("inputSize", inputSize, 0);
  checkLength("w", w, gates * hidden * inputSize);
  checkLength("r", r, gates * hidden * hidden);
  if (b !== undefined) checkLength("b", b, 2 * gates * hidden);
  const sources = [{ source: w, width: inputSize }, {
    source: r,
    width: hidden,
  }];
  const biases = [b?.subarray(0, gates * hidden), b?.subarray(gates * hidden)];
  return (g) => (unit) => rowColumn(g * hidden + unit, sources, biases);
}

function packSweeps(floats: number, sweeps: readonly Columns[]): Float32Array {
  const out = new Float32Array(floats);
  sweeps.reduce(
    (offset, columns) => writePanels(out, offset, columns, piecesOf),
    0,
  );
  return out;
}
