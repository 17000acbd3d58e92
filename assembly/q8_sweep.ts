// int8 rows against panels: which tiles, and in what order. Sums are exact, so that nothing here
// changes a bit. A tile passes all panels of a group before the next tile does: weights from memory
// come in one long stream, which hardware prefetchers follow (loads ahead of the tiles, as sweep.ts
// has them for f32, were slower by 5 to 10 %), and lines of the result are completed at once.
import { n, panelBytes, readsQ8, streaming, streams } from "./q8_job";
import { PANEL_HEADER } from "./q8_epilogue";
import { sweepChain, sweepSplit, sweepWhole, sweepWide } from "./q8_tiles";
import { wholeBytes, wholeDots } from "./scratch";
import { BLOCK_ROWS, STREAM_BYTES } from "./sweep";

/** Panels of a group: even, and together no larger than this where that leaves two. */
const GROUP_PANELS = 8;
const GROUP_BYTES: usize = 256 << 10;

/** Bytes of one packed panel over K. */
// @ts-ignore: decorator
@inline export function q8PanelBytes(k: i32): usize {
  return PANEL_HEADER + (<usize>((k + 3) >> 2) << 5);
}

/** Panels of this size in one group. */
export function groupPanels(bytes: usize): i32 {
  return max(2, min(GROUP_PANELS, <i32>(GROUP_BYTES / bytes) & ~1));
}

/** m quantised rows of k bytes against the panels at w; what becomes of sums was said by writesQ8(). */
export function sweepQ8(m: i32, k: i32, seven: i32, qRows: usize, w: usize): void {
  readsQ8(k, qRows, q8PanelBytes(k));
  const panels = (n + 7) >> 3;
  const group = groupPanels(panelBytes);
  streams(<usize>panels * panelBytes > STREAM_BYTES);
  for (let first = 0; first < m; first += BLOCK_ROWS) {
    const rows = min(BLOCK_ROWS, m - first);
    let panel = w;
    for (let p = 0; p < panels; p += group) {
      tilesQ8(rows, <usize>first << 2, min(group, panels - p), panel, p << 3, seven);
      panel += <usize>group * panelBytes;
    }
  }
}

/** A block of rows against some panels, the first of which holds columns from `col` on. */
export function tilesQ8(rows: i32, at: usize, panels: i32, w: usize, col: i32, seven: i32): void {
  if (!ASC_FEATURE_RELAXED_SIMD) sweepWide(rows, at, panels, w, col);
  else if (wholeDots) {
    if (isWhole(seven)) sweepWhole(rows, at, panels, w, col);
    else sweepSplit(rows, at, panels, w, col);
  } else if (seven) sweepChain(rows, at, panels, w, col);
  else sweepWide(rows, at, panels, w, col);
}

/** Whether these activations are multiplied in one pass of whole dot products, if any are. */
// @ts-ignore: decorator
@inline function isWhole(seven: i32): bool {
  return seven != 0 || wholeBytes;
}

/** Rows of the tallest tile there is. */
export const TILE_ROWS_MAX = 6;

/** Rows of the tallest tile that tilesQ8() takes. */
export function tileRows(seven: i32): i32 {
  return !wholeDots ? 4 : isWhole(seven) ? TILE_ROWS_MAX : 5;
}

/** Whether its tiles of a single row take several panels. */
export function takesPanels(seven: i32): bool {
  return !wholeDots || (isWhole(seven) && !streaming);
}
