// The first rows of a batch against weights that come from memory: pieces of K of four
// panels in turn, sums in scratch memory between the pieces. While one panel's piece is
// computed, the processor fetches the others' next; a panel at a time would wait for
// each. Bits are those of whole tiles: the bias first, then k ascending.
import { extra, k1, k2, nextRows, rows1 } from "./job";
import { scratch } from "./scratch";
import { beginSums, endSums } from "./sums";
import {
  LEAD_STEPS, chunk_2x8, chunk_3x8, chunk_4x8, rest_2x8, rest_3x8, rest_4x8
} from "./tiles";

/** Rows that lead at most. */
export const LEAD_ROWS = 4;
/** Panels side by side: as many as the processor follows, few enough to share a set of the cache. */
export const LEAD_PANELS = 4;
const PIECE_BYTES: usize = LEAD_STEPS * 32;

/** Bytes of scratch memory. */
export const LEAD_SCRATCH_BYTES: usize = LEAD_ROWS * LEAD_PANELS * 32;

/** Two to LEAD_ROWS rows, entered at `at`, against LEAD_PANELS panels at w, the first one's outputs from `col` on. */
export function lead(height: i32, at: usize, w: usize, panelBytes: usize, col: i32): void {
  const sums = scratch;
  beginSums(height, 1, LEAD_PANELS, w, panelBytes, sums);
  let piece = w + 32;
  let rows = rows1;
  let k = k1;
  for (let segment = 0; ; ++segment) {
    let from: usize = 0;
    let left = k;
    for (; left >= LEAD_STEPS; left -= LEAD_STEPS) {
      chunk(height, rows + at, from, piece, panelBytes, sums);
      from += LEAD_STEPS * 4;
      piece += PIECE_BYTES;
    }
    if (left > 0) {
      rest(height, rows + at, from, left, piece, panelBytes, sums);
      piece += <usize>left << 5;
    }
    if (segment == extra) break;
    rows = nextRows(segment);
    k = k2;
  }
  endSums(height, 1, LEAD_PANELS, sums, at, col);
}

// @ts-ignore: decorator
@inline function chunk(height: i32, rows: usize, from: usize, w: usize, panelBytes: usize, sums: usize): void {
  switch (height) {
    case 4: return chunk_4x8(rows, from, w, panelBytes, sums, LEAD_PANELS);
    case 3: return chunk_3x8(rows, from, w, panelBytes, sums, LEAD_PANELS);
    default: chunk_2x8(rows, from, w, panelBytes, sums, LEAD_PANELS);
  }
}

// @ts-ignore: decorator
@inline function rest(
  height: i32, rows: usize, from: usize, steps: i32, w: usize, panelBytes: usize, sums: usize
): void {
  switch (height) {
    case 4: return rest_4x8(rows, from, steps, w, panelBytes, sums, LEAD_PANELS);
    case 3: return rest_3x8(rows, from, steps, w, panelBytes, sums, LEAD_PANELS);
    default: rest_2x8(rows, from, steps, w, panelBytes, sums, LEAD_PANELS);
  }
}
