// The deterministic sweep for many rows in engines that check every access in code: pieces
// of K, each for a group of panels and all rows of a block, sums in scratch memory between
// the pieces. Bits are those of the direct sweep: the bias first, then k ascending.
import { allK, extra, k1, k2, nextRows, panelStarts, pieceGap, pieceSteps, rows1 } from "./job";
import { blocks, scratch } from "./scratch";
import { beginSums, endSums } from "./sums";
import { CHUNK_STEPS, chunk_5x8, rest_5x8 } from "./tiles";

const TILE_ROWS = 5;
/** Rows whose sums wait in scratch memory. */
const BLOCK_ROWS = 130;
/** Panels that meet one piece of the rows; their weights lie in the first- or second-level cache. */
export const GROUP_PANELS = 32;
const CHUNK_BYTES: usize = CHUNK_STEPS * 32;
const WEIGHT_BYTES: usize = GROUP_PANELS * CHUNK_BYTES;
const TILE_BYTES: usize = TILE_ROWS * 32;
const SUMS_BYTES: usize = (BLOCK_ROWS / TILE_ROWS) * GROUP_PANELS * TILE_BYTES;
/** With fewer panels, or a shorter K, moving sums and checking rows costs more than it saves. */
export const MIN_PANELS = 8;
const MIN_STEPS = 4 * CHUNK_STEPS;
const MIN_ROWS = 8 * TILE_ROWS;
/** The same for weights from memory: pieces come slower than whole panels. */
const MIN_ROWS_STREAMING = 12 * TILE_ROWS;

/** Bytes of scratch memory; 0 in builds that never sweep in blocks. */
export const BLOCKED_SCRATCH_BYTES: usize = RELAXED_MADD ? 0 : SUMS_BYTES + WEIGHT_BYTES;

/** How many of the batch's m rows blocked() should take; the others are for the direct sweep. */
export function blockedRows(m: i32, panels: i32, streaming: bool): i32 {
  if (RELAXED_MADD) return 0;
  if (!blocks || panels < MIN_PANELS) return 0;
  const least = streaming ? MIN_ROWS_STREAMING : MIN_ROWS;
  if (m < least) return 0;
  const whole = k1 / CHUNK_STEPS + k2 / CHUNK_STEPS * extra;
  const steps = allK();
  // Steps outside of whole pieces are slow.
  if (steps < MIN_STEPS || whole * CHUNK_STEPS < steps - (steps >> 3)) return 0;
  return m - m % TILE_ROWS;
}

/**
 * The first m rows, a multiple of TILE_ROWS, against `group` panels at w, the first one's outputs from `col` on, its
 * sums from the biases at `start`.
 */
export function blocked(m: i32, group: i32, w: usize, panelBytes: usize, start: usize, col: i32): void {
  const sums = scratch;
  // Not in front: chunk_5x8() starts from an address below its weights.
  const weights = scratch + SUMS_BYTES;
  const tileBytes = <usize>group * TILE_BYTES;
  const parts = (m + BLOCK_ROWS - 1) / BLOCK_ROWS;
  const allTiles = m / TILE_ROWS;
  const blockTiles = (allTiles + parts - 1) / parts;
  for (let first = 0; first < allTiles; first += blockTiles) {
    const tiles = min(blockTiles, allTiles - first);
    const at = <usize>(first * TILE_ROWS) << 2;
    beginSums(TILE_ROWS, tiles, group, start, panelStarts, sums);
    let weightsAt = w + 32;
    let rows = rows1;
    let k = k1;
    let pieceLeft = pieceSteps;
    for (let segment = 0; ; ++segment) {
      for (let from: usize = 0; k > 0; ) {
        const run = min(k, pieceLeft);
        let left = run;
        for (; left >= CHUNK_STEPS; left -= CHUNK_STEPS) {
          fetch(group, weightsAt, panelBytes, weights);
          let table = rows + at;
          for (let t = 0, to = sums; t < tiles; ++t, to += tileBytes, table += TILE_ROWS * 4) {
            chunk_5x8(table, from, weights, CHUNK_BYTES, to, group);
          }
          from += CHUNK_STEPS * 4;
          weightsAt += CHUNK_BYTES;
        }
        if (left > 0) {
          let table = rows + at;
          for (let t = 0, to = sums; t < tiles; ++t, to += tileBytes, table += TILE_ROWS * 4) {
            rest_5x8(table, from, left, weightsAt, panelBytes, to, group);
          }
          from += <usize>left << 2;
          weightsAt += <usize>left << 5;
        }
        k -= run;
        pieceLeft -= run;
        if (pieceLeft == 0) {
          pieceLeft = pieceSteps;
          weightsAt += pieceGap;
        }
      }
      if (segment == extra) break;
      rows = nextRows(segment);
      k = k2;
    }
    endSums(TILE_ROWS, tiles, group, sums, at, col);
  }
}

/** The panels' pieces side by side: apart by a panel they would share few lines of the cache. */
function fetch(group: i32, from: usize, panelBytes: usize, to: usize): void {
  for (let p = 0; p < group; ++p, from += panelBytes, to += CHUNK_BYTES) {
    memory.copy(to, from, CHUNK_BYTES);
  }
}
