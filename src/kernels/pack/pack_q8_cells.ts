/**
 * Packing of int8 weights of recurrent cells, in the order of the f32 cells' gates (pack_cells.ts): panels of
 * packQ8(), over x and over h.
 */
import { knownOptions } from "../../base/options.ts";
import type { CellSize } from "./pack_cells.ts";
import { checkLength, checkSize } from "./pack_gemm.ts";
import { packedQ8Words, packQ8 } from "./pack_q8.ts";
import { panelsFor } from "./panels.ts";

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

/** One operand of the sums. */
interface Side {
  k: number;
  gates: QuantizedGates;
  bias?: Float32Array;
}

/** 4-byte words of packed int8 LSTM weights. */
export function packedLstmQ8Words({ hidden, inputSize }: CellSize): number {
  return 4 * wordsOfBoth(hidden, inputSize);
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
 * // Four gates, each with a panel over x and one over h.
 * assert.equal(w.length, 8 * (40 + 8));
 * ```
 */
export function packLstmQ8(options: CellQ8Weights): Int32Array {
  const { hidden } = options;
  const [x, h] = sides("packLstmQ8", options, 4);
  const [i, o, f, c] = [0, 1, 2, 3];
  return joined(
    [i, c, f, o].map((g) => ofBoth(gateRows(hidden, g), x, h)),
  );
}

/** 4-byte words of packed int8 GRU weights. */
export function packedGruQ8Words({ hidden, inputSize }: CellSize): number {
  return 3 * wordsOfBoth(hidden, inputSize);
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
  const [z, r, candidate] = [0, 1, 2].map((g) => gateRows(hidden, g));
  return joined([
    ofBoth(r, x, h),
    panelsOf(candidate, h),
    panelsOf(candidate, x),
    ofBoth(z, x, h),
  ]);
}

/** 4-byte words of a gate over x and h. */
function wordsOfBoth(hidden: number, inputSize: number): number {
  return packedQ8Words({ n: hidden, k: inputSize }) +
    packedQ8Words({ n: hidden, k: hidden });
}

/** The matrices' rows of gate `g`. */
function gateRows(hidden: number, g: number): number[] {
  return Array.from({ length: hidden }, (_, unit) => g * hidden + unit);
}

function joined(parts: readonly Int32Array[]): Int32Array {
  const words = new Int32Array(
    parts.reduce((sum, { length }) => sum + length, 0),
  );
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

/** Panels of the named rows. */
function panelsOf(
  rows: readonly number[],
  { k, gates: { values, scale, zero }, bias }: Side,
): Int32Array {
  const n = rows.length;
  const gathered = new Int8Array(n * k);
  rows.forEach((row, j) => {
    gathered.set(values.subarray(row * k, (row + 1) * k), j * k);
  });
  return packQ8({
    n,
    k,
    values: gathered,
    scale: Float32Array.from(rows, (row) => scale[row]),
    zero: Int32Array.from(rows, (row) => zero?.[row] ?? 0),
    bias: Float32Array.from(rows, (row) => bias?.[row] ?? 0),
  });
}

/** Panels of the named rows over both operands: x's first, h's first, x's second, ... */
function ofBoth(rows: readonly number[], x: Side, h: Side): Int32Array {
  const [overX, overH] = [panelsOf(rows, x), panelsOf(rows, h)];
  const panels = panelsFor(rows.length);
  const words = new Int32Array(overX.length + overH.length);
  const [xWords, hWords] = [overX.length / panels, overH.length / panels];
  for (let p = 0, at = 0; p < panels; ++p, at += xWords + hWords) {
    words.set(overX.subarray(p * xWords, (p + 1) * xWords), at);
    words.set(overH.subarray(p * hWords, (p + 1) * hWords), at + xWords);
  }
  return words;
}
