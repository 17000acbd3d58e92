// The sweep that is under way: what is the same for all its tiles. Globals of an instance are its
// thread's own, so that instances on one shared memory do not meet here.
import { lateActivation, op } from "./op";

/** Columns of segment 0 of K, and the row table they are reached through. */
export let k1: i32 = 0;
export let rows1: usize = 0;
/** Columns of each of the `extra` further segments, and their row table, or a list of their row tables. */
export let k2: i32 = 0;
export let rows2: usize = 0;
export let extra: i32 = 0;

/** Where tiles begin: a segment of K, its row table, how many columns of it are left and the bytes before these. */
export let beginSegment: i32 = 0;
export let beginRows: usize = 0;
export let beginColumns: i32 = 0;
export let beginBytes: usize = 0;
/** Steps of K that they take. */
export let steps: i32 = 0;
/** Steps of a panel that lie together, and the bytes from their end to where the next ones begin. */
export let pieceSteps: i32 = 0;
export let pieceGap: usize = 0;
/** Bytes from what one panel's sums start from to the next one's, and from a row's to the next one's; 0: biases. */
export let panelStarts: usize = 0;
export let rowStarts: usize = 0;

/** Columns of the result; those of the last panel from n on are padding. */
export let n: i32 = 0;
/** What panels finish with, and the activation that finished rows get then (op.ts). */
export let code: i32 = 0;
export let late: i32 = 0;
/** What sums that are stored as they are, or with ReLU, are at least: pmax() with it is the activation. */
export let floor: v128 = f32x4.splat(0);
/** Row tables of the epilogue; see finish(). */
export let p0: usize = 0;
export let p1: usize = 0;
export let p2: usize = 0;

/** Says what the left operand is: [segment 0 | segments 1..extra]. rows2: see nextRows(). */
export function reads(columns1: i32, table1: usize, columns2: i32, table2: usize, segments2: i32): void {
  k1 = columns1;
  rows1 = table1;
  k2 = columns2;
  rows2 = table2;
  extra = segments2;
  walks(0, table1, columns1, 0, columns1 + columns2 * segments2);
}

/** Has tiles begin at a column of a segment and take `count` steps, all of which lie together. */
export function walks(segment: i32, table: usize, columns: i32, bytes: usize, count: i32): void {
  beginSegment = segment;
  beginRows = table;
  beginColumns = columns;
  beginBytes = bytes;
  steps = count;
  pieceSteps = count;
  pieceGap = 0;
}

/** Says that panels lie in pieces. */
export function inPieces(count: i32, gap: usize): void {
  pieceSteps = count;
  pieceGap = gap;
}

/** Says what sums start from. */
export function starts(panelBytes: usize, rowBytes: usize): void {
  panelStarts = panelBytes;
  rowStarts = rowBytes;
}

/** Says what becomes of sums: `columns` outputs by one code. */
export function writes(columns: i32, ending: i32, table0: usize, table1: usize, table2: usize): void {
  n = columns;
  late = lateActivation(ending);
  code = ending - late;
  floor = v128.splat<f32>((code & ~op.RESIDUAL) == op.RELU ? 0 : -Infinity);
  p0 = table0;
  p1 = table1;
  p2 = table2;
}

/** Elements of K in all segments. */
// @ts-ignore: decorator
@inline export function allK(): i32 {
  return k1 + k2 * extra;
}

/**
 * Row table of K segment `segment + 1`: rows2 itself when there is only one more
 * segment, else rows2 is a list of table addresses.
 */
// @ts-ignore: decorator
@inline export function nextRows(segment: i32): usize {
  return extra == 1 ? rows2 : <usize>load<u32>(rows2 + (<usize>segment << 2));
}
