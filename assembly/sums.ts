// Sums that wait in scratch memory between pieces of K: [tile][panel][row][8].
import { finish, lateActivation } from "./epilogue";
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

/** Hands them to the epilogue; arguments as in sweep(), the first row and column at `at` and `first`. */
export function endSums(
  height: i32, tiles: i32, group: i32, sums: usize, at: usize, first: i32, n: i32, units: i32,
  op0: i32, op1: i32, p0: usize, p1: usize, p2: usize
): void {
  const late = op0 == op1 ? lateActivation(op0) : 0;
  for (let t = 0; t < tiles; ++t, at += <usize>height << 2) {
    let col = first;
    for (let p = 0; p < group; ++p) {
      const code = (p & 1 ? op1 : op0) - late;
      for (let r = 0; r < height; ++r, sums += 32) {
        finish(code, v128.load(sums), v128.load(sums, 16), at + (<usize>r << 2), col, n, p0, p1, p2);
      }
      if (op0 == op1 || p & 1) col += units;
    }
    if (late) activateRows(late, height, p0 + at, first, min(col, n));
  }
}
