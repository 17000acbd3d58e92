/**
 * The three dataflows as one parametrised mapping of a GEMM onto the array.
 *
 * A GEMM  ofmap[m,n] = sum over k of ifmap[m,k] * filter[k,n]  has three axes; a dataflow says which
 * of them lies along the rows, which along the columns and which in time. All else follows:
 *
 *     left port    streams (rows, time), one word per row and cycle, skewed by the row
 *     top port     loads (rows, cols) once per fold if the top operand is resident (ws, is),
 *                  or streams (time, cols), skewed by the column (os)
 *     bottom port  leaves (time, cols), partial sums of this fold (ws, is),
 *                  or (rows, cols), shifted out after the fold (os)
 *
 * Source: Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
 * Accelerators using SCALE-Sim", ISPASS 2020, Table I.
 */
import { oneOf, positiveInteger } from "./checks.ts";

export type Axis = "m" | "n" | "k";
export type Operand = "ifmap" | "filter" | "ofmap";
/** What stays in the array: "os" the output, "ws" the weights, "is" the input. */
export type Dataflow = "os" | "ws" | "is";
export const DATAFLOWS: readonly Dataflow[] = ["os", "ws", "is"];

/** ofmap (m x n) = ifmap (m x k) * filter (k x n); all dimensions in words. */
export interface Gemm {
  /** Rows of the input and output: of a batch, pixels, tokens. */
  m: number;
  /** Columns of the output: units, output channels. */
  n: number;
  /** What is summed over: inputs of a unit, elements of a window. */
  k: number;
}

/** Processing elements of the array. */
export interface ArrayShape {
  /** From the top edge to the bottom one. */
  rows: number;
  /** From the left edge to the right one. */
  cols: number;
}

export interface Mapping {
  rows: Axis;
  cols: Axis;
  time: Axis;
  left: "ifmap" | "filter";
  top: "ifmap" | "filter";
  /** True if the top operand stays in the array for a fold and partial sums move (ws, is). */
  topResident: boolean;
}

export const MAPPINGS: Readonly<Record<Dataflow, Mapping>> = {
  os: {
    rows: "m",
    cols: "n",
    time: "k",
    left: "ifmap",
    top: "filter",
    topResident: false,
  },
  ws: {
    rows: "k",
    cols: "n",
    time: "m",
    left: "ifmap",
    top: "filter",
    topResident: true,
  },
  is: {
    rows: "k",
    cols: "m",
    time: "n",
    left: "filter",
    top: "ifmap",
    topResident: true,
  },
};

/** A GEMM laid on an array: extents along rows, columns and time, and the folds they need. */
export interface FoldGrid {
  mapping: Mapping;
  array: ArrayShape;
  /** Extent along the rows, columns and time (SCALE-Sim's Sr, Sc, T). */
  sr: number;
  sc: number;
  t: number;
  rowFolds: number;
  colFolds: number;
  folds: number;
}

/** Checks the names and sizes and lays the GEMM on the array. Throws RangeError. */
export function foldGrid(
  gemm: Gemm,
  array: ArrayShape,
  dataflow: Dataflow,
): FoldGrid {
  const mapping = MAPPINGS[oneOf(dataflow, DATAFLOWS, "dataflow")];
  checkGemm(gemm);
  positiveInteger(array.rows, "array rows");
  positiveInteger(array.cols, "array columns");
  return gridOf(gemm, array, mapping);
}

/** Throws a RangeError naming a dimension below 1, or more multiplications than numbers count. */
export function checkGemm(gemm: Gemm): void {
  for (const axis of ["m", "n", "k"] as const) {
    positiveInteger(gemm[axis], `GEMM dimension ${axis}`);
  }
  if (!Number.isSafeInteger(gemm.m * gemm.n * gemm.k)) {
    throw new RangeError(
      `GEMM ${gemm.m}x${gemm.n}x${gemm.k} has more than 2^53 multiplications; split it`,
    );
  }
}

/** The same for sizes that were checked before, as parts of a GEMM on a machine. */
export function gridOf(
  gemm: Gemm,
  array: ArrayShape,
  mapping: Mapping,
): FoldGrid {
  const sr = gemm[mapping.rows];
  const sc = gemm[mapping.cols];
  const rowFolds = Math.ceil(sr / array.rows);
  const colFolds = Math.ceil(sc / array.cols);
  return {
    mapping,
    array,
    sr,
    sc,
    t: gemm[mapping.time],
    rowFolds,
    colFolds,
    folds: rowFolds * colFolds,
  };
}

/** Rows of the array that row fold `index` uses. */
export function rowsUsed(grid: FoldGrid, index: number): number {
  return Math.min(grid.array.rows, grid.sr - index * grid.array.rows);
}

/** Columns of the array that column fold `index` uses. */
export function colsUsed(grid: FoldGrid, index: number): number {
  return Math.min(grid.array.cols, grid.sc - index * grid.array.cols);
}
