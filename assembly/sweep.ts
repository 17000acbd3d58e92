// One sweep: every row of a batch against every panel of packed weights. All
// matrix kernels are one or more sweeps with different epilogues.
//
// Packed weights: panels of 8 columns, each 8 biases followed by K x 8 weights,
// 16-byte aligned; those of a large K lie in pieces (pieces.ts). A block of rows meets one
// group of panels after the other, and the group stays in cache while the block's tiles
// pass. Which tile takes a row is free to choose: all tiles give the same bits.
import { blocked, blockedRows, GROUP_PANELS as BLOCKED_PANELS, MIN_PANELS } from "./blocked";
import { allK, late, n, p0, panelStarts, starts, steps } from "./job";
import { touch } from "./touch";
import {
  tile_1x16, tile_1x32, tile_1x8, tile_2x16, tile_2x8, tile_3x8, tile_4x8, tile_5x8, tile_6x8
} from "./tiles";
import { activateRows } from "./unary";

/** Rows per block, which usually stays in the second-level cache; twice as many where weights come from memory. */
export const BLOCK_ROWS = 120;
/** Rows of the largest tile: six where product and sum need no register between them. */
// @ts-ignore: decorator
@inline function tileRows(): i32 {
  return RELAXED_MADD ? 6 : 5;
}
/** Panels that tiles of a block pass before the next tiles do. */
export const GROUP_PANELS = 4;
/** Panels that a leading tile passes before the others follow: half the second-level cache at most. */
const LEAD_PANELS = 32;
/**
 * A tile and a panel stay in the first-level cache together if the tile's rows, counted twice, and the
 * panel take no more than this.
 */
const RESIDENT_BYTES: usize = 48 << 10;
/** The same where other rows follow. */
const LEAD_BYTES: usize = 40 << 10;
/** Of panels above this size half as many, so that a group and some rows stay in the second-level cache. */
const WIDE_PANEL_BYTES: usize = 128 << 10;
/** Weights above this size are taken to come from memory rather than from cache. */
export const STREAM_BYTES: usize = 2 << 20;
/** Above this they may come from anywhere: tiles meet them in the order that memory likes, which costs caches nothing. */
export const FAR_BYTES: usize = 256 << 10;
/**
 * The same for two rows, and for one row in two streams instead of four, which in cache are faster in a wide tile: what
 * the second-level cache does not keep.
 */
const FAR_WIDE_BYTES: usize = 768 << 10;
/** Up to this they may lie in the third-level cache, where two rows are faster in two streams than led. */
const NEAR_BYTES: usize = 12 << 20;

/** Bytes of one packed panel over K. */
// @ts-ignore: decorator
@inline export function panelBytesOf(k: i32): usize {
  return 32 + (<usize>k << 5);
}

/** `panels` panels at w against m rows. What they read and what becomes of the sums was said before, in job.ts. */
export function sweep(m: i32, panels: i32, w: usize): void {
  const panelBytes = panelBytesOf(allK());
  wholePanels(m, panels, w, panelBytes, <usize>panels * panelBytes);
  if (late) activateRows(late, m, p0, 0, n);
}

/** The same but for late activations; bytes: as in direct(). */
export function wholePanels(m: i32, panels: i32, w: usize, panelBytes: usize, bytes: usize): void {
  starts(panelBytes, 0);
  const done = blockedRows(m, panels, bytes > STREAM_BYTES);
  if (done == 0) {
    direct(0, m, panels, w, panelBytes, w, 0, bytes);
    return;
  }
  // Group by group, so that weights from memory come once for all blocks and for the rest.
  let col = 0;
  for (let p = 0; p < panels; p += BLOCKED_PANELS) {
    const group = min(BLOCKED_PANELS, panels - p);
    const rows = group < MIN_PANELS ? 0 : done;
    if (rows > 0) blocked(rows, group, w, panelBytes, w, col);
    direct(rows, m, group, w, panelBytes, w, col, <usize>group * panelBytes);
    w += <usize>group * panelBytes;
    col += group << 3;
  }
}

/**
 * Rows first..m - 1 against all panels with whole tiles, the first panel's outputs from `firstCol` on, its sums
 * in row 0 from what lies at `start`. bytes: weights that the rows meet in all, which says where they come from.
 */
export function direct(
  first: i32, m: i32, panels: i32, w: usize, panelBytes: usize, start: usize, firstCol: i32, bytes: usize
): void {
  const count = m - first;
  if (bytes > FAR_BYTES && (count == 1 || (count == 2 && bytes <= NEAR_BYTES))) {
    const streams = count == 1 && bytes <= FAR_WIDE_BYTES ? GROUP_PANELS : 2;
    apart(count, <usize>first << 2, streams, panels, w, panelBytes, start, firstCol);
    return;
  }
  const streaming = bytes > STREAM_BYTES;
  const blockRows = streaming ? 2 * BLOCK_ROWS : BLOCK_ROWS;
  for (let block = first; block < m; block += blockRows) {
    const rows = min(blockRows, m - block);
    const at = <usize>block << 2;
    const lead = bytes > (rows == 2 ? FAR_WIDE_BYTES : FAR_BYTES) ? leadRows(rows) : 0;
    const ahead = streaming && rows > 2 && lead == 0;
    const group = lead ? LEAD_PANELS : rows > 1 && panelBytes > WIDE_PANEL_BYTES ? GROUP_PANELS / 2 : GROUP_PANELS;
    let panel = w;
    let from = start;
    let col = firstCol;
    for (let left = panels; left > 0; left -= group) {
      const some = min(group, left);
      if (ahead) touch(panel, panelBytes * some);
      if (lead) across(lead, at, some, panel, panelBytes, from, col);
      for (let p = 0; p < some; p += GROUP_PANELS) {
        const few = min(some - p, GROUP_PANELS);
        tall(rows - lead, at + (<usize>lead << 2), few, panel, panelBytes, from, col);
        panel += panelBytes * few;
        from += panelStarts * few;
        col += few << 3;
      }
    }
  }
}

/**
 * Rows of the tile that goes ahead of the others while weights come from memory, panel after panel in
 * one stream: where it and a panel fit the first-level cache it computes as they come. 0: they do not
 * fit, and touch() has to go ahead instead.
 */
function leadRows(rows: i32): i32 {
  if (rows < 2) return 0;
  // Two rows wait for memory in any case; of wide panels, for two at a time.
  if (rows == 2) return panelBytesOf(steps) > WIDE_PANEL_BYTES ? 0 : 2;
  const lead = min(rows, tileRows());
  const bytes = <usize>((2 * lead + 8) * steps) << 2;
  return bytes <= (rows > lead ? LEAD_BYTES : RESIDENT_BYTES) ? lead : 0;
}

/**
 * One row or two: streams a half or, of one row, a quarter of the weights apart, which memory serves faster than
 * neighbours. Columns do not come in ascending order.
 */
function apart(
  rows: i32, at: usize, streams: i32, panels: i32, w: usize, panelBytes: usize, start: usize, col: i32
): void {
  const part = panels / streams;
  const far = panelBytes * part;
  const startsFar = panelStarts * part;
  for (let p = 0; p < part; ++p) {
    if (rows == 2) tile_2x16(at, w, far, start, startsFar, part << 3, col);
    else if (streams == 2) tile_1x16(at, w, far, start, startsFar, part << 3, col);
    else tile_1x32(at, w, far, start, startsFar, part << 3, col);
    w += panelBytes;
    start += panelStarts;
    col += 8;
  }
  const done = part * (streams - 1);
  across(rows, at, panels - part * streams, w + panelBytes * done, panelBytes, start + panelStarts * done, col + (done << 3));
}

/** Rows in the tallest tiles, what is left in one of its height or, one row or two, in wide ones. */
function tall(rows: i32, at: usize, panels: i32, w: usize, panelBytes: usize, start: usize, col: i32): void {
  for (; rows >= tileRows(); rows -= tileRows(), at += <usize>tileRows() << 2) {
    across(tileRows(), at, panels, w, panelBytes, start, col);
  }
  if (rows == 2 && (panels & 1) == 0) {
    for (; panels > 0; panels -= 2) {
      tile_2x16(at, w, panelBytes, start, panelStarts, 8, col);
      w += panelBytes * 2;
      start += panelStarts * 2;
      col += 16;
    }
  } else if (rows == 1 && panels == GROUP_PANELS) {
    tile_1x32(at, w, panelBytes, start, panelStarts, 8, col);
  } else if (rows > 0) {
    across(rows, at, panels, w, panelBytes, start, col);
  }
}

/** One tile against panel after panel: its rows are read once for all of them. */
function across(
  height: i32, at: usize, panels: i32, w: usize, panelBytes: usize, start: usize, col: i32
): void {
  for (; panels > 0; --panels) {
    tile(height, at, w, start, col);
    w += panelBytes;
    start += panelStarts;
    col += 8;
  }
}

/** Up to tileRows() rows against one panel. */
// @ts-ignore: decorator
@inline function tile(height: i32, at: usize, w: usize, start: usize, col: i32): void {
  if (RELAXED_MADD) {
    if (height == 6) return tile_6x8(at, w, start, col);
  }
  switch (height) {
    case 5: return tile_5x8(at, w, start, col);
    case 4: return tile_4x8(at, w, start, col);
    case 3: return tile_3x8(at, w, start, col);
    case 2: return tile_2x8(at, w, start, col);
    default: tile_1x8(at, w, start, col);
  }
}
