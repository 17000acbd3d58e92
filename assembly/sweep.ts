// One sweep: every row of a batch against every panel of packed weights. All
// matrix kernels are one or more sweeps with different epilogues.
//
// Packed weights: panels of 8 columns, each 8 biases followed by K x 8 weights,
// 16-byte aligned. K (all segments) is never split: a block of rows meets one
// panel after the other, and a panel stays in cache while the block's tiles pass.
import {
  tile_1x32, tile_1x8, tile_2x16, tile_2x8, tile_3x8, tile_4x8, tile_5x8
} from "./tiles";

/** Rows per block, chosen so that a block of wide rows stays in the second-level cache. */
const BLOCK_ROWS = 120;
/** Largest tile. */
const TILE_ROWS = 5;

/** Bytes of one packed panel of K columns-deep weights. */
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
  if (m <= 0) return;
  if (m <= 2) {
    thin(m, n, panels, units, op0, op1, k1, rows1, k2, rows2, extra, w, panelBytes, p0, p1, p2);
    return;
  }
  const single = op0 == op1;
  for (let block = 0; block < m; block += BLOCK_ROWS) {
    const rows = min(BLOCK_ROWS, m - block);
    // Balanced tiles of 3 to 5 rows (fewer only when the block itself has fewer).
    const tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const small = rows / tiles;
    const large = rows - small * tiles;
    let panel = w;
    let col = 0;
    for (let p = 0; p < panels; ++p) {
      const code = p & 1 ? op1 : op0;
      let at = <usize>block << 2;
      for (let t = 0; t < tiles; ++t) {
        const height = t < large ? small + 1 : small;
        switch (height) {
          case 5:
            tile_5x8(at, k1, rows1, k2, rows2, extra, panel, 0, code, code, units, col, n, p0, p1, p2);
            break;
          case 4:
            tile_4x8(at, k1, rows1, k2, rows2, extra, panel, 0, code, code, units, col, n, p0, p1, p2);
            break;
          case 3:
            tile_3x8(at, k1, rows1, k2, rows2, extra, panel, 0, code, code, units, col, n, p0, p1, p2);
            break;
          case 2:
            tile_2x8(at, k1, rows1, k2, rows2, extra, panel, 0, code, code, units, col, n, p0, p1, p2);
            break;
          default:
            tile_1x8(at, k1, rows1, k2, rows2, extra, panel, 0, code, code, units, col, n, p0, p1, p2);
        }
        at += <usize>height << 2;
      }
      panel += panelBytes;
      if (single || p & 1) col += units;
    }
  }
}

/** One or two rows: bound by the weights' way from memory, so several panels stream side by side. */
function thin(
  m: i32, n: i32, panels: i32, units: i32, op0: i32, op1: i32,
  k1: i32, rows1: usize, k2: i32, rows2: usize, extra: i32, w: usize, panelBytes: usize,
  p0: usize, p1: usize, p2: usize
): void {
  const wide = m == 1 ? 4 : 2;
  const single = op0 == op1;
  const step = single ? wide * units : wide / 2 * units;
  let col = 0;
  let p = 0;
  for (; p + wide <= panels; p += wide) {
    if (m == 1) {
      tile_1x32(0, k1, rows1, k2, rows2, extra, w, panelBytes, op0, op1, units, col, n, p0, p1, p2);
    } else {
      tile_2x16(0, k1, rows1, k2, rows2, extra, w, panelBytes, op0, op1, units, col, n, p0, p1, p2);
    }
    w += panelBytes * wide;
    col += step;
  }
  for (; p < panels; ++p) {
    const code = p & 1 ? op1 : op0;
    if (m == 1) tile_1x8(0, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    else tile_2x8(0, k1, rows1, k2, rows2, extra, w, 0, code, code, units, col, n, p0, p1, p2);
    w += panelBytes;
    if (single || p & 1) col += units;
  }
}
