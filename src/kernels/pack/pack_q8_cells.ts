/**
 * Packing of int8 weights of recurrent cells, in the order of the f32 cells' gates (pack_cells.ts): panels of
 * packQ8(), over x and over h.
 */
import { knownOptions } from "../../base/options.ts";
import type { CellSize } from "./pack_cells.ts";
import { checkLength, checkSize } from "./pack_gemm.ts";
import { packedQ8Words, packQ8 } from "./pack_q8.ts";
import { PANEL_COLUMNS, panelsFor } from "./panels.ts";

/** At least what the kernels' `cell_q8_scratch_bytes` says, for plans made before there is a kernel to ask. */
export const CELL_Q8_SCRATCH_BYTES = 4096;

/** One of a cell's two matrices, quantised per gate and unit: weight = (value - zero) * scale. */
export interface QuantizedGates {
  /** [gates * hidden][columns], -128..127. */
  values: Int8Array;
  /** [gates * hidden]. */
  scale: Float32Array;
  /** [gates * hidden]; zeros if absent. */
  zero?: Int32Array;
}

/** ONNX weights of one direction of an LSTM (gates i, o, f, c) or GRU (z, r, h), of int8. */
export interface CellQ8Weights extends CellSize {
  /** Of [gates * hidden][inputSize]. */
  w: QuantizedGates;
  /** Of [gates * hidden][hidden]. */
  r: QuantizedGates;
  /** [2 * gates * hidden] of f32: input biases, then recurrent biases; zeros if absent. */
  b?: Float32Array;
}

/** Rows of the matrices by column of a panel; undefined is padding. */
type Gates = readonly (number | undefined)[];

/** One operand of the sums. */
interface Side {
  k: number;
  gates: QuantizedGates;
  bias?: Float32Array;
}

/** 4-byte words of packed int8 LSTM weights. */
export function packedLstmQ8Words({ hidden, inputSize }: CellSize): number {
  const n = 2 * PANEL_COLUMNS * Math.ceil(hidden / 4);
  return packedQ8Words({ n, k: inputSize }) + packedQ8Words({ n, k: hidden });
}

/**
 * Packs int8 ONNX LSTM weights (gates i, o, f, c) for `lstm_step_q8`.
 * @returns its `w`, as i32
 * @throws {RangeError} if a size is too small, an array has not as many elements as it says, or sums may not
 * fit 32 bits
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { packLstmQ8, quantizeWeights } from "@shoal/core/kernels";
 *
 * const [hidden, inputSize] = [2, 3];
 * const gates = (k: number) =>
 *   quantizeWeights({ n: 4 * hidden, k, weight: new Float32Array(4 * hidden * k) });
 * const w = packLstmQ8({ hidden, inputSize, w: gates(inputSize), r: gates(hidden) });
 * // Two panels over x and two over h, each of a header and one step of 4 numbers.
 * assert.equal(w.length, 4 * (40 + 8));
 * ```
 */
export function packLstmQ8(options: CellQ8Weights): Int32Array {
  const { hidden } = options;
  const [x, h] = sides("packLstmQ8", options, 4);
  const [i, o, f, c] = [0, 1, 2, 3];
  const gates: (number | undefined)[] = [];
  for (let unit = 0; unit < hidden; unit += 4) {
    for (const gate of [i, c, f, o]) {
      for (let at = unit; at < unit + 4; ++at) {
        gates.push(at < hidden ? gate * hidden + at : undefined);
      }
    }
  }
  return interleaved(panelsOf(gates, x), panelsOf(gates, h), gates.length);
}

/** 4-byte words of packed int8 GRU weights. */
export function packedGruQ8Words({ hidden, inputSize }: CellSize): number {
  return 3 * (packedQ8Words({ n: hidden, k: inputSize }) +
    packedQ8Words({ n: hidden, k: hidden }));
}

/**
 * Packs int8 ONNX GRU weights (gates z, r, h) for `gru_step_q8`, which computes linear_before_reset = 1.
 * @returns its `w`, as i32
 * @throws {RangeError} if a size is too small, an array has not as many elements as it says, or sums may not
 * fit 32 bits
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { packGruQ8, quantizeWeights } from "@shoal/core/kernels";
 *
 * const [hidden, inputSize] = [2, 3];
 * const gates = (k: number) =>
 *   quantizeWeights({ n: 3 * hidden, k, weight: new Float32Array(3 * hidden * k) });
 * const w = packGruQ8({ hidden, inputSize, w: gates(inputSize), r: gates(hidden) });
 * // Three gates, each with a panel over x and one over h.
 * assert.equal(w.length, 6 * (40 + 8));
 * ```
 */
export function packGruQ8(options: CellQ8Weights): Int32Array {
  const { hidden } = options;
  const [x, h] = sides("packGruQ8", options, 3);
  const gate = (g: number): Gates =>
    Array.from({ length: hidden }, (_, unit) => g * hidden + unit);
  const [z, r, candidate] = [gate(0), gate(1), gate(2)];
  const both = (gates: Gates) =>
    interleaved(panelsOf(gates, x), panelsOf(gates, h), hidden);
  const parts = [
    both(r),
    panelsOf(candidate, h),
    panelsOf(candidate, x),
    both(z),
  ];
  const words = new Int32Array(packedGruQ8Words(options));
  let at = 0;
  for (const part of parts) {
    words.set(part, at);
    at += part.length;
  }
  return words;
}

/** x's and h's parts of the gates, looked over. */
function sides(
  packer: string,
  options: CellQ8Weights,
  gates: number,
): readonly [Side, Side] {
  knownOptions(packer, options, ["hidden", "inputSize", "w", "r", "b"]);
  const { hidden, inputSize, w, r, b } = options;
  checkSize("hidden", hidden, 1);
  checkSize("inputSize", inputSize, 1);
  const rows = gates * hidden;
  if (b !== undefined) checkLength("b", b, 2 * rows);
  knownOptions(`${packer}'s w`, w, ["values", "scale", "zero"]);
  knownOptions(`${packer}'s r`, r, ["values", "scale", "zero"]);
  // Whole matrices first: what is gathered of one that is too short would be a message of another size.
  packQ8({ n: rows, k: inputSize, ...w });
  packQ8({ n: rows, k: hidden, ...r });
  return [
    { k: inputSize, gates: w, bias: b?.subarray(0, rows) },
    { k: hidden, gates: r, bias: b?.subarray(rows) },
  ];
}

/** Panels of the named rows; padding is zeros. */
function panelsOf(
  rows: Gates,
  { k, gates: { values, scale, zero }, bias }: Side,
): Int32Array {
  const n = rows.length;
  const gathered = new Int8Array(n * k);
  rows.forEach((row, j) => {
    if (row !== undefined) {
      gathered.set(values.subarray(row * k, (row + 1) * k), j * k);
    }
  });
  const floats = (from: Float32Array | undefined) =>
    Float32Array.from(rows, (row) => row === undefined ? 0 : from?.[row] ?? 0);
  return packQ8({
    n,
    k,
    values: gathered,
    scale: floats(scale),
    zero: Int32Array.from(
      rows,
      (row) => row === undefined ? 0 : zero?.[row] ?? 0,
    ),
    bias: floats(bias),
  });
}

/** x's first panel, h's first, x's second, ... */
function interleaved(
  x: Int32Array,
  h: Int32Array,
  columns: number,
): Int32Array {
  const panels = panelsFor(columns);
  const words = new Int32Array(x.length + h.length);
  const [xWords, hWords] = [x.length / panels, h.length / panels];
  for (let p = 0, at = 0; p < panels; ++p, at += xWords + hWords) {
    words.set(x.subarray(p * xWords, (p + 1) * xWords), at);
    words.set(h.subarray(p * hWords, (p + 1) * hWords), at + xWords);
  }
  return words;
}
