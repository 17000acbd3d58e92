// Sums that wait in scratch memory between pieces of K: [tile][panel][row][8].
import { finish, lateActivation } from "./epilogue";
import { n, op0, op1, p0, units } from "./job";
import { activateRows } from "./unary";

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
  const late = op0 == op1 ? lateActivation(op0) : 0;
  for (let t = 0; t < tiles; ++t, at += <usize>height << 2) {
    let col = first;
    for (let p = 0; p < group; ++p) {
      const code = (p & 1 ? op1 : op0) - late;
      for (let r = 0; r < height; ++r, sums += 32) {
        finish(code, v128.load(sums), v128.load(sums, 16), at + (<usize>r << 2), col);
      }
      if (op0 == op1 || p & 1) col += units;
    }
    if (late) activateRows(late, height, p0 + at, first, min(col, n));
  }
}
