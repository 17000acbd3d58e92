import { checkLeast, checkPacked, checkRows } from "./checks";
import { op } from "./epilogue";
import { panelBytesOf, sweep } from "./sweep";

/**
 * f32 GEMM with bias and activation:
 *   c[i][j] = act(bias[j] + sum_k a[i][k] * w[k][j]),  i < m, j < n
 * a is [a1 | a2], k1 columns behind aRows1 and k2 (may be 0) behind aRows2, so a
 * concatenation costs nothing. The sum starts from the bias and takes k in
 * ascending order. act: 0 none, 1 relu, 2 sigmoid, 3 tanh.
 * w: ceil(n / 8) panels of 8 biases and (k1 + k2) x 8 weights, 16-byte aligned.
 * Columns from n on are never written; c rows must not overlap a rows.
 */
export function gemm_f32(
  m: i32, n: i32, k1: i32, aRows1: usize, k2: i32, aRows2: usize, w: usize, cRows: usize, act: i32
): void {
  const panels = (n + 7) >> 3;
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkLeast(k1, 0);
    checkLeast(k2, 0);
    checkRows(aRows1, m, <usize>k1 << 2);
    if (k2 > 0) checkRows(aRows2, m, <usize>k2 << 2);
    checkRows(cRows, m, <usize>n << 2);
    checkPacked(w, panels, panelBytesOf(k1 + k2));
    assert(act >= op.NONE && act <= op.TANH, "unknown activation");
  }
  sweep(m, n, panels, 8, act, act, k1, aRows1, k2, aRows2, k2 > 0 ? 1 : 0, w, cRows, 0, 0);
}
