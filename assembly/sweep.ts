// One sweep: every row of a batch against every panel of packed weights. All
// matrix kernels are one or more sweeps with different epilogues.
//
// Packed weights: panels of 8 columns, each 8 biases followed by K x 8 weights,
// 16-byte aligned. K (all segments) is never split: a block of rows meets one group
// of panels after the other, and the group stays in cache while the block's tiles
// pass. Which tile takes a row is free to choose: all tiles give the same bits.
import { blocked, blockedRows, GROUP_PANELS as BLOCKED_PANELS, MIN_PANELS } from "./blocked";
import { lateActivation, op } from "./epilogue";
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
 * `panels` panels at w against m rows. `units`: how many outputs one panel (op0 ==
 * op1) or a pair of panels (op0 != op1, `panels` then even) completes. The other
 * arguments as in the tiles and finish().
 */
export function sweep(
  m: i32, n: i32, panels: i32, units: i32, op0: i32, op1: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize,
  p0: usize, p1: usize, p2: usize
): void {
  const panelBytes = panelBytesOf(k1 + k2 * extra);
  const streaming = <usize>panels * panelBytes > STREAM_BYTES;
  const done = blockedRows(m, panels, k1, k2, extra, streaming);
  if (done == 0) {
    direct(0, m, n, panels, units, op0, op1, k1, rows1, k2, rows2, extra, w, panelBytes, 0, p0, p1, p2);
    return;
  }
  // Group by group, so that weights from memory come once for all blocks and for the rest.
  let col = 0;
  for (let p = 0; p < panels; p += BLOCKED_PANELS) {
    const group = min(BLOCKED_PANELS, panels - p);
    const rows = group < MIN_PANELS ? 0 : done;
    if (rows > 0) blocked(rows, n, group, units, op0, op1, k1, rows1, k2, rows2, extra, w, panelBytes, col, p0, p1, p2);
    direct(rows, m, n, group, units, op0, op1, k1, rows1, k2, rows2, extra, w, panelBytes, col, p0, p1, p2);
    w += <usize>group * panelBytes;
    col += op0 == op1 ? group * units : (group >> 1) * units;
  }
}

/** Rows first..m - 1 against all panels with whole tiles. */
function direct(
  first: i32, m: i32, n: i32, panels: i32, units: i32, op0: i32, op1: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize, panelBytes: usize, firstCol: i32,
  p0: usize, p1: usize, p2: usize
): void {
  const streaming = <usize>panels * panelBytes > STREAM_BYTES;
  if (m - first == 1 && streaming && op0 == op1 && op0 != op.ARGMAX) {
    apart(<usize>first << 2, n, panels, units, op0, k1, rows1, k2, rows2, extra, w, panelBytes, firstCol, p0, p1, p2);
    return;
  }
  const groupUnits = op0 == op1 ? GROUP_PANELS * units : GROUP_PANELS / 2 * units;
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
      if (leads == 1) {
        tile_1x32(at, k1, rows1, k2, rows2, extra, panel, panelBytes, op0, op1, units, col, n, p0, p1, p2);
      } else if (leads > 1) {
        lead(leads, at, k1, rows1, k2, rows2, extra, panel, panelBytes, op0, op1, units, col, n, p0, p1, p2);
      }
      const rest = rows - leads;
      const next = at + (<usize>leads << 2);
      if (rest <= 2 || (leads == 1 && rest <= PAIR_ROWS)) {
        pairs(rest, next, n, units, op0, op1, k1, rows1, k2, rows2, extra, panel, panelBytes, col, p0, p1, p2);
      } else {
        tall(rest, next, n, GROUP_PANELS, units, op0, op1, k1, rows1, k2, rows2, extra, panel, panelBytes, col, p0, p1, p2);
      }
      panel += panelBytes * GROUP_PANELS;
      col += groupUnits;
    }
    tall(rows, at, n, panels - p, units, op0, op1, k1, rows1, k2, rows2, extra, panel, panelBytes, col, p0, p1, p2);
  }
}

/**
 * One row: four streams a quarter of the weights apart, which memory serves faster than
 * neighbours. Columns do not come in ascending order.
 */
function apart(
  at: usize, n: i32, panels: i32, units: i32, code: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize, panelBytes: usize, col: i32,
  p0: usize, p1: usize, p2: usize
): void {
  const quarter = panels / GROUP_PANELS;
  for (let p = 0; p < quarter; ++p) {
    tile_1x32(
      at, k1, rows1, k2, rows2, extra, w, panelBytes * quarter, code, code, units * quarter, col, n, p0, p1, p2
    );
    w += panelBytes;
    col += units;
  }
  const done = quarter * (GROUP_PANELS - 1);
  tall(
    1, at, n, panels - quarter * GROUP_PANELS, units, code, code, k1, rows1, k2, rows2, extra,
    w + panelBytes * done, panelBytes, col + units * done, p0, p1, p2
  );
}

/** Rows two at a time against one group; an odd one goes alone. */
function pairs(
  rows: i32, at: usize, n: i32, units: i32, op0: i32, op1: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize, panelBytes: usize, col: i32,
  p0: usize, p1: usize, p2: usize
): void {
  const half = panelBytes * 2;
  const halfUnits = op0 == op1 ? 2 * units : units;
  if (rows & 1) {
    tile_1x32(at, k1, rows1, k2, rows2, extra, w, panelBytes, op0, op1, units, col, n, p0, p1, p2);
    at += 4;
  }
  for (let left = rows >> 1; left > 0; --left) {
    tile_2x16(at, k1, rows1, k2, rows2, extra, w, panelBytes, op0, op1, units, col, n, p0, p1, p2);
    tile_2x16(at, k1, rows1, k2, rows2, extra, w + half, panelBytes, op0, op1, units, col + halfUnits, n, p0, p1, p2);
    at += 8;
  }
}

/**
 * Rows in balanced tiles of up to tileRows(), each tile against panel after panel (the first
 * of even number): rows of a large K are read once for the group, not once for each panel.
 */
function tall(
  rows: i32, at: usize, n: i32, panels: i32, units: i32, op0: i32, op1: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize, panelBytes: usize, firstCol: i32,
  p0: usize, p1: usize, p2: usize
): void {
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
      const code = (p & 1 ? op1 : op0) - late;
      tile(height, at, k1, rows1, k2, rows2, extra, panel, code, units, col, n, p0, p1, p2);
      panel += panelBytes;
      if (op0 == op1 || p & 1) col += units;
    }
    if (late && panels > 0) activateRows(late, height, p0 + at, firstCol, min(col, n));
    at += <usize>height << 2;
  }
}

/** Up to tileRows() rows against one panel. */
// @ts-ignore: decorator
@inline function tile(
  height: i32, at: usize, k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32,
  w: usize, code: i32, units: i32, col: i32, n: i32, p0: usize, p1: usize, p2: usize
): void {
  if (ASC_FEATURE_RELAXED_SIMD) {
    if (height == 6) return tile_6x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
  }
  switch (height) {
    case 5: return tile_5x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    case 4: return tile_4x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    case 3: return tile_3x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    case 2: return tile_2x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    default: tile_1x8(at, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
  }
}
