// Sums that wait in scratch memory between pieces of K: [tile][panel][row][8].
import { finish } from "./epilogue";

/** Sums of `tiles` tiles of `height` rows and `group` panels start from the biases. */
export function beginSums(
  height: i32, tiles: i32, group: i32, panel: usize, panelBytes: usize, sums: usize
): void {
  for (let t = 0; t < tiles; ++t) {
    for (let p = 0, from = panel; p < group; ++p, from += panelBytes) {
      const lo = v128.load(from);
      const hi = v128.load(from, 16);
      for (let r = 0; r < height; ++r, sums += 32) {
        v128.store(sums, lo);
        v128.store(sums, hi, 16);
      }
    }
  }
}

/** Hands them to the epilogue, the first row and column at `at` and `first`. */
export function endSums(height: i32, tiles: i32, group: i32, sums: usize, at: usize, first: i32): void {
  for (let t = 0; t < tiles; ++t, at += <usize>height << 2) {
    for (let p = 0, col = first; p < group; ++p, col += 8) {
      for (let r = 0; r < height; ++r, sums += 32) {
        finish(v128.load(sums), v128.load(sums, 16), at + (<usize>r << 2), col);
      }
    }
  }
}
