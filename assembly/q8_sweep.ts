// int8 rows against panels: which tiles, and in what order. Sums are exact, so that nothing here
// changes a bit. A tile passes all panels of a group before the next tile does: weights from memory
// come in one long stream, which hardware prefetchers follow while sums are made (loads ahead of the
// tiles, as sweep.ts has them for f32, are that much slower), and which each group begins anew.
import {
  HEADER_BYTES, headers, HIGH_BYTES, keepsHighSums, movesPacked, multiplies, n, packed, panelBytes, part, readsPacked, readsQ8, steps, streaming,
  streams
} from "./q8_job";
import { PANEL_HEADER } from "./q8_epilogue";
import { packHeaders, packParts, packRows } from "./q8_pack";
import { PACKED_ROWS, sweepChain, sweepWhole, sweepWide } from "./q8_tiles";
import { scratch, wholeBytes, wholeDots } from "./scratch";
import { BLOCK_ROWS, STREAM_BYTES } from "./sweep";

/** Panels of a group, together no larger than this where that leaves two; fewer where sums of each wait in memory. */
const GROUP_PANELS = 64;
const GROUP_BYTES: usize = 384 << 10;
export const FEW_PANELS = 8;

/** Bytes of a block's packed rows, at least one of the longest there are, x's and h's of a cell, twice. */
const PACKED_BYTES: usize = 288 << 10;
/** Behind them and sums of their highest bits those of a panel. */
const SUMS_OFFSET: usize = PACKED_BYTES + BLOCK_ROWS * HIGH_BYTES;
/** Bytes of scratch memory that whole dot products need. */
export const Q8_SCRATCH_BYTES: usize = ASC_FEATURE_RELAXED_SIMD ? SUMS_OFFSET + BLOCK_ROWS * 32 : 0;

/** Bytes of one packed panel over K. */
// @ts-ignore: decorator
@inline export function q8PanelBytes(k: i32): usize {
  return PANEL_HEADER + (<usize>((k + 3) >> 2) << 5);
}

/** Whether these activations are multiplied by whole dot products, but in two parts. */
// @ts-ignore: decorator
@inline function inParts(seven: i32): bool {
  return !wholeBytes && seven == 0;
}

/** Whether rows of these activations are packed, line after line. */
export function packsRows(seven: i32): bool {
  return ASC_FEATURE_RELAXED_SIMD && wholeDots && !inParts(seven);
}

/** Panels of this size in one group: even. */
export function groupPanels(bytes: usize, seven: i32): i32 {
  const most = packsRows(seven) ? GROUP_PANELS : FEW_PANELS;
  return max(2, min(most, <i32>(GROUP_BYTES / bytes) & ~1));
}

/** Rows of a block, of which as many have k bytes together. */
export function blockRows(k: i32, seven: i32): i32 {
  if (!wholeDots) return BLOCK_ROWS;
  const rows = <i32>(PACKED_BYTES / ((<usize>(k + 6) << (inParts(seven) ? 1 : 0)) + 2 * HEADER_BYTES));
  return rows < PACKED_ROWS ? rows : min(BLOCK_ROWS, rows - rows % PACKED_ROWS);
}

/** From a block's packed rows, or those of their highest bits, to those of the other bits. */
let toLowBits: usize = 0;

/** Packs a block of the job's rows where whole dot products want them; returns the bytes behind `offset` that it takes. */
export function packBlock(rows: i32, at: usize, seven: i32, offset: usize): usize {
  if (!ASC_FEATURE_RELAXED_SIMD || !wholeDots) return 0;
  const bytes = <usize>(rows * steps) << 2;
  if (!headers) packHeaders(rows, at, scratch + offset);
  const head = <usize>rows * HEADER_BYTES;
  const to = scratch + offset + head;
  if (!inParts(seven)) {
    packRows(rows, at, to);
    return head + bytes;
  }
  packParts(rows, at, to, 7, 0x01010101);
  packParts(rows, at, to + bytes, 0, 0x7f7f7f7f);
  return head + bytes + bytes;
}

/** Says that the tiles' rows are those that packBlock() put there, if it did. */
export function readsBlock(rows: i32, at: usize, offset: usize): void {
  if (!ASC_FEATURE_RELAXED_SIMD || !wholeDots) return;
  const copies = headers ? headers + at * (HEADER_BYTES >> 2) : scratch + offset;
  readsPacked(scratch + offset + <usize>rows * HEADER_BYTES, copies, at, scratch + SUMS_OFFSET);
  toLowBits = <usize>(rows * steps) << 2;
}

/**
 * m quantised rows of k bytes, their headers at `copies` or before them (0), against the panels at w; what becomes of
 * sums was said by writesQ8().
 */
export function sweepQ8(m: i32, k: i32, seven: i32, qRows: usize, copies: usize, w: usize): void {
  const panels = (n + 7) >> 3;
  const group = groupPanels(q8PanelBytes(k), seven);
  const block = blockRows(k, seven);
  streams(<usize>panels * q8PanelBytes(k) > STREAM_BYTES);
  for (let first = 0; first < m; first += block) {
    const rows = min(block, m - first);
    const at = <usize>first << 2;
    readsQ8(k, qRows, q8PanelBytes(k), copies);
    packBlock(rows, at, seven, 0);
    readsBlock(rows, at, 0);
    let panel = w;
    for (let p = 0; p < panels; p += group) {
      tilesQ8(rows, at, min(group, panels - p), panel, p << 3, seven);
      panel += <usize>group * panelBytes;
    }
  }
}

/** Some rows of a block against some panels, the first of which holds columns from `col` on. */
export function tilesQ8(rows: i32, at: usize, panels: i32, w: usize, col: i32, seven: i32): void {
  if (!ASC_FEATURE_RELAXED_SIMD) sweepWide(rows, at, panels, w, col);
  else if (!wholeDots) {
    if (seven) sweepChain(rows, at, panels, w, col);
    else sweepWide(rows, at, panels, w, col);
  } else if (inParts(seven)) {
    keepsHighSums(scratch + PACKED_BYTES, at, col);
    multiplies(part.HIGH);
    sweepWhole(rows, at, panels, w, col);
    multiplies(part.LOW);
    const high = packed;
    movesPacked(high + toLowBits);
    sweepWhole(rows, at, panels, w, col);
    movesPacked(high);
    multiplies(part.ALL);
  } else sweepWhole(rows, at, panels, w, col);
}

/** Rows of the tallest tile that tilesQ8() takes; a block's are cut into such, from the first on. */
export function tileRows(): i32 {
  return wholeDots ? PACKED_ROWS : 4;
}

/** Whether its tiles of a single row take several panels. */
export function takesPanels(): bool {
  return !wholeDots || !streaming;
}
