// One sweep: every row of a batch against every panel of packed weights. All
// matrix kernels are one or more sweeps with different epilogues.
//
// Packed weights: panels of 8 columns, each 8 biases followed by K x 8 weights,
// 16-byte aligned. K (all segments) is never split: a block of rows meets one group
// of panels after the other, and the group stays in cache while the block's tiles
// pass. Which tile takes a row is free to choose: all tiles give the same bits.
import { blocked, blockedRows, GROUP_PANELS as BLOCKED_PANELS, MIN_PANELS } from "./blocked";
import { lateActivation, op } from "./epilogue";
import { allK, n, op0, op1, p0, units, unitsOf } from "./job";
import { LEAD_PANELS, LEAD_ROWS, lead } from "./lead";
import { scratch } from "./scratch";
import {
  tile_1x32, tile_1x8, tile_2x16, tile_2x8, tile_3x8, tile_4x8, tile_5x8, tile_6x8
} from "./tiles";
import { activateRows } from "./unary";

/** Rows per block, which usually stays in the second-level cache; twice as many where weights come from memory. */
export const BLOCK_ROWS = 120;
/** Rows of the largest tile: six where product and sum need no register between them. */
// @ts-ignore: decorator
@inline function tileRows(): i32 {
  return ASC_FEATURE_RELAXED_SIMD ? 6 : 5;
}
/** Panels that pass side by side where the weights' way from memory is the limit. */
const GROUP_PANELS = LEAD_PANELS;
/** Weights above this size are taken to come from memory rather than from cache. */
const STREAM_BYTES: usize = 2 << 20;
/** Without scratch memory: up to so many rows streaming weights meet pairs of rows rather than tall tiles. */
const PAIR_ROWS = 16;

/** Bytes of one packed panel over K. */
// @ts-ignore: decorator
@inline export function panelBytesOf(k: i32): usize {
  return 32 + (<usize>k << 5);
}

/**
 * `panels` panels at w against m rows. What they read and what becomes of the sums was said
 * before, by reads() and writes() or writesPairs() of job.ts; after writesPairs() with two
 * codes `panels` is even.
 */
export function sweep(m: i32, panels: i32, w: usize): void {
  const panelBytes = panelBytesOf(allK());
  const streaming = <usize>panels * panelBytes > STREAM_BYTES;
  const done = blockedRows(m, panels, streaming);
  if (done == 0) {
    direct(0, m, panels, w, panelBytes, 0);
    return;
  }
  // Group by group, so that weights from memory come once for all blocks and for the rest.
  let col = 0;
  for (let p = 0; p < panels; p += BLOCKED_PANELS) {
    const group = min(BLOCKED_PANELS, panels - p);
    const rows = group < MIN_PANELS ? 0 : done;
    if (rows > 0) blocked(rows, group, w, panelBytes, col);
    direct(rows, m, group, w, panelBytes, col);
    w += <usize>group * panelBytes;
    col += unitsOf(group);
  }
}

/** Rows first..m - 1 against all panels with whole tiles, the first panel's outputs from `firstCol` on. */
function direct(first: i32, m: i32, panels: i32, w: usize, panelBytes: usize, firstCol: i32): void {
  const streaming = <usize>panels * panelBytes > STREAM_BYTES;
  if (m - first == 1 && streaming && op0 == op1 && op0 != op.ARGMAX) {
    apart(<usize>first << 2, panels, w, panelBytes, firstCol);
    return;
  }
  const blockRows = streaming ? 2 * BLOCK_ROWS : BLOCK_ROWS;
  for (let block = first; block < m; block += blockRows) {
    const rows = min(blockRows, m - block);
    const at = <usize>block << 2;
    // The first rows pull a group from memory in four streams, which one panel at a
    // time cannot; the others then find it in cache.
    const pulls = streaming && block == first;
    const leads = rows == 1 || (pulls && scratch == 0) ? 1 : pulls ? min(rows, LEAD_ROWS) : 0;
    let panel = w;
    let col = firstCol;
    let p = 0;
    for (; p + GROUP_PANELS <= panels; p += GROUP_PANELS) {
      if (leads == 1) tile_1x32(at, panel, panelBytes, units, col);
      else if (leads > 1) lead(leads, at, panel, panelBytes, col);
      const rest = rows - leads;
      const next = at + (<usize>leads << 2);
      if (rest <= 2 || (leads == 1 && rest <= PAIR_ROWS)) pairs(rest, next, panel, panelBytes, col);
      else tall(rest, next, GROUP_PANELS, panel, panelBytes, col);
      panel += panelBytes * GROUP_PANELS;
      col += unitsOf(GROUP_PANELS);
    }
    tall(rows, at, panels - p, panel, panelBytes, col);
  }
}

/**
 * One row: four streams a quarter of the weights apart, which memory serves faster than
 * neighbours. Columns do not come in ascending order.
 */
function apart(at: usize, panels: i32, w: usize, panelBytes: usize, col: i32): void {
  const quarter = panels / GROUP_PANELS;
  for (let p = 0; p < quarter; ++p) {
    tile_1x32(at, w, panelBytes * quarter, units * quarter, col);
    w += panelBytes;
    col += units;
  }
  const done = quarter * (GROUP_PANELS - 1);
  tall(1, at, panels - quarter * GROUP_PANELS, w + panelBytes * done, panelBytes, col + units * done);
}

/** Rows two at a time against one group; an odd one goes alone. */
function pairs(rows: i32, at: usize, w: usize, panelBytes: usize, col: i32): void {
  const half = panelBytes * 2;
  if (rows & 1) {
    tile_1x32(at, w, panelBytes, units, col);
    at += 4;
  }
  for (let left = rows >> 1; left > 0; --left) {
    tile_2x16(at, w, panelBytes, units, col);
    tile_2x16(at, w + half, panelBytes, units, col + unitsOf(2));
    at += 8;
  }
}

/**
 * Rows in balanced tiles of up to tileRows(), each tile against panel after panel (the first
 * of even number): rows of a large K are read once for the group, not once for each panel.
 */
function tall(rows: i32, at: usize, panels: i32, w: usize, panelBytes: usize, firstCol: i32): void {
  if (rows == 0) return;
  const tiles = (rows + tileRows() - 1) / tileRows();
  const small = rows / tiles;
  const large = rows - small * tiles;
  const late = op0 == op1 ? lateActivation(op0) : 0;
  for (let t = 0; t < tiles; ++t) {
    const height = t < large ? small + 1 : small;
    let panel = w;
    let col = firstCol;
    for (let p = 0; p < panels; ++p) {
      tile(height, at, panel, (p & 1 ? op1 : op0) - late, col);
      panel += panelBytes;
      if (op0 == op1 || p & 1) col += units;
    }
    if (late && panels > 0) activateRows(late, height, p0 + at, firstCol, min(col, n));
    at += <usize>height << 2;
  }
}

/** Up to tileRows() rows against one panel. */
// @ts-ignore: decorator
@inline function tile(height: i32, at: usize, w: usize, code: i32, col: i32): void {
  if (ASC_FEATURE_RELAXED_SIMD) {
    if (height == 6) return tile_6x8(at, w, code, col);
  }
  switch (height) {
    case 5: return tile_5x8(at, w, code, col);
    case 4: return tile_4x8(at, w, code, col);
    case 3: return tile_3x8(at, w, code, col);
    case 2: return tile_2x8(at, w, code, col);
    default: tile_1x8(at, w, code, col);
  }
}
