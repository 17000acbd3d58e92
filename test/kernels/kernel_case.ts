/**
 * A kernel case: operands, one call and what must come out, as plain data. Tests place
 * cases in memory between guard bytes, permute their rows and run rows alone; benches
 * time them. Every kernel has a generator of cases in cases/ and a line in registry.ts.
 */
import type { Prng } from "../../src/base/prng.ts";
import type { Equivalent } from "./equivalent.ts";
import type { KernelExports } from "../../src/kernels/module/exports.ts";

/** An operand of `rows` rows reached through a row table. */
export interface RowOperand {
  /** Elements of 4 bytes in a row. */
  width: number;
  /** Row-major, rows x width. */
  data: Float32Array | Int32Array;
  /** true: one array of rows x width elements instead of rows behind a table. */
  contiguous?: boolean;
}

/** A result of `rows` rows of `width` elements. */
export interface ResultOperand {
  width: number;
  /** Addresses are not compared: they differ between layouts. */
  type: "f32" | "i32" | "address";
  /** true: one array of rows x width elements instead of rows behind a table. */
  contiguous?: boolean;
}

/** Addresses by operand name: of the row table, the block, the list or the array. */
export type Addresses = Readonly<Record<string, number>>;

/** One call of one kernel. */
export interface KernelCase {
  /** Sizes, for messages: "m=5 n=17 k=3". */
  label: string;
  rows: number;
  inputs: Readonly<Record<string, RowOperand>>;
  /** Operands that are not per row: packed weights, embedding tables. 16-byte aligned. */
  blocks?: Readonly<Record<string, Float32Array | Int32Array>>;
  /** Bytes of working memory, 16-byte aligned, whose contents are of no meaning. */
  scratch?: Readonly<Record<string, number>>;
  /** Tables of the rows of `width` elements that the named blocks consist of. */
  tables?: Readonly<Record<string, { block: string; width: number }>>;
  /** Arrays of addresses of the named operands' row tables. */
  lists?: Readonly<Record<string, readonly string[]>>;
  results: Readonly<Record<string, ResultOperand>>;
  /** Calls the kernel on the first m rows. */
  call(kernels: KernelExports, at: Addresses, m: number): void;
  /** Expected results in double precision, rows x width each, from the naive reference. */
  expected(): Record<string, ArrayLike<number>>;
  /**
   * Allowed error, relative to the expected number or 1, whichever is greater; 0 demands
   * equal numbers.
   */
  tolerance: number;
  /** What rates are given in; gigabytes a second if absent. */
  work?: Work;
  /** Bytes that have to move at least once; those of all operands if absent. */
  bytes?: number;
  /** The same computation in ONNX's words, for peers; absent where they have no such operator. */
  equivalent?(): Equivalent;
}

/** How much a call computes. */
export interface Work {
  count: number;
  unit: "GFLOP/s" | "GOP/s" | "G elements/s";
}

/** What a generator needs: sizes, and numbers to fill operands with. */
export interface CaseDraw {
  prng: Prng;
  /** Rows of the case. */
  rows: number;
  /** true: small integers, so that sums of products are exact and results must be equal. */
  exact: boolean;
}

/** Makes one case. */
export type CaseGenerator = (draw: CaseDraw) => KernelCase;

/** Cases of one kernel: called, of drawn sizes; `of` given ones. */
export interface CaseFamily<Size> extends CaseGenerator {
  of(draw: CaseDraw, size: Size): KernelCase;
}

/** A family from what draws its sizes and what makes a case of them. */
export function caseFamily<Size>(
  drawSizes: (draw: CaseDraw) => Size,
  make: (draw: CaseDraw, size: Size) => KernelCase,
): CaseFamily<Size> {
  return Object.assign((draw: CaseDraw) => make(draw, drawSizes(draw)), {
    of: make,
  });
}

/** A size around the edges of tiles of 4 and 8, now and then larger; at least `least`. */
export function drawSize(prng: Prng, least = 1): number {
  const around = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 40];
  const size = prng.int(4) === 0
    ? 1 + prng.int(70)
    : around[prng.int(around.length)];
  return Math.max(least, size);
}

/**
 * Columns of a product and the length of its sums: now and then as many and as long as it takes for weights to lie
 * in several groups of pieces (assembly/pieces.ts).
 */
export function drawProduct(prng: Prng): { n: number; k: number } {
  if (prng.int(8) !== 0) return { n: drawSize(prng), k: drawSize(prng) };
  const columns = [3, 24, 127, 128, 129, 200, 264];
  return { n: columns[prng.int(columns.length)], k: drawLength(prng) };
}

/** A length of sums about and above the longest that is not in pieces. */
export function drawLength(prng: Prng): number {
  return prng.int(3) === 0 ? 639 + prng.int(4) : 640 + prng.int(460);
}

/** `length` numbers in [-1, 1), or small integers in exact cases. */
export function drawFloats(
  { prng, exact }: CaseDraw,
  length: number,
): Float32Array {
  return Float32Array.from(
    { length },
    () => exact ? prng.int(9) - 4 : prng.float() * 2 - 1,
  );
}

/** Weights scaled so that a sum over k of them stays of order 1 (unscaled in exact cases). */
export function drawWeights(
  draw: CaseDraw,
  length: number,
  k: number,
): Float32Array {
  const weights = drawFloats(draw, length);
  return draw.exact
    ? weights
    : weights.map((value) => value / Math.sqrt(Math.max(1, k)) * 2);
}

/** `length` numbers from the normal distribution, of mean 0 and deviation 1. */
export function drawNormal({ prng }: CaseDraw, length: number): Float32Array {
  // Box and Muller's transform; 1 - u is never 0.
  return Float32Array.from(
    { length },
    () =>
      Math.sqrt(-2 * Math.log(1 - prng.float())) *
      Math.cos(2 * Math.PI * prng.float()),
  );
}

/** One of the names in `record`, or of `exactNames` in exact cases. */
export function drawName<Name extends string>(
  { prng, exact }: CaseDraw,
  record: Readonly<Record<Name, unknown>>,
  exactNames: readonly Name[],
): Name {
  const names = exact ? exactNames : Object.keys(record) as Name[];
  return names[prng.int(names.length)];
}

/** Rows of `width` drawn numbers. */
export function drawRows(draw: CaseDraw, width: number): RowOperand {
  return { width, data: drawFloats(draw, draw.rows * width) };
}

/** Row i of an operand. */
export function rowOf(
  { width, data }: RowOperand,
  i: number,
): Float32Array | Int32Array {
  return data.subarray(i * width, (i + 1) * width);
}
