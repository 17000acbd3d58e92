import { checkLeast, checkPacked, checkRows } from "./checks";
import { isActivation, op } from "./op";
import { reads, writes } from "./job";
import { get, row } from "./simd";
import { groupPanelsOf, packedBytesOf, pieceStepsOf, sweepPacked } from "./pieces";

/**
 * f32 GEMM with bias and activation:
 *   c[i][j] = act(bias[j] + sum_k a[i][k] * w[k][j]),  i < m, j < n
 * a is [a1 | a2], k1 columns behind aRows1 and k2 (may be 0) behind aRows2, so a
 * concatenation costs nothing. The sum starts from the bias and takes k in
 * ascending order. act: 0 none, 1 relu, 2 sigmoid, 3 tanh, 16 gelu,
 * 17 gelu by tanh, 18 silu.
 * w: ceil(n / 8) panels of 8 biases and (k1 + k2) x 8 weights, 16-byte aligned, in pieces
 * where k1 + k2 is large (pieces.ts).
 * Columns from n on are never written; c rows must not overlap a rows.
 */
export function gemm_f32(
  m: i32, n: i32, k1: i32, aRows1: usize, k2: i32, aRows2: usize, w: usize, cRows: usize, act: i32
): void {
  check(m, n, k1, aRows1, k2, aRows2, w, cRows, act);
  reads(k1, aRows1, k2, aRows2, i32(k2 > 0));
  writes(n, act, cRows, 0, 0);
  const panels = (n + 7) >> 3;
  sweepPacked(m, 0, panels, panels, w, 1);
}

/**
 * gemm_f32 plus a residual: c[i][j] = act(r[i][j] + sum), the sum finished before r is
 * added. rRows may be cRows: each element is read before it is written.
 */
export function gemm_residual_f32(
  m: i32, n: i32, k1: i32, aRows1: usize, k2: i32, aRows2: usize, w: usize, rRows: usize,
  cRows: usize, act: i32
): void {
  check(m, n, k1, aRows1, k2, aRows2, w, cRows, act);
  if (!ASC_NO_ASSERT) checkRows(rRows, m, <usize>n << 2);
  reads(k1, aRows1, k2, aRows2, i32(k2 > 0));
  writes(n, act | op.RESIDUAL, cRows, rRows, 0);
  const panels = (n + 7) >> 3;
  sweepPacked(m, 0, panels, panels, w, 1);
}

/**
 * Packs a right operand that is not a constant: n columns of k elements, bias 0, into
 * the panels gemm_f32 takes. transposed = 1: bRows are n rows of k (a row is a column of
 * the product, as keys in attention); 0: k rows of n. w: ceil(n / 8) panels, 16-byte
 * aligned; padding columns and steps become 0.
 */
export function pack_gemm_f32(n: i32, k: i32, bRows: usize, transposed: i32, w: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkLeast(k, 0);
    checkRows(bRows, transposed ? n : k, <usize>(transposed ? k : n) << 2);
    checkPacked(w, (n + 7) >> 3, packedBytesOf(k));
  }
  const length = pieceStepsOf(k);
  const group = groupPanelsOf(k);
  for (let first = 0; first < n; first += group << 3) {
    const size = min(group, (n - first + 7) >> 3);
    memory.fill(w, 0, <usize>size << 5);
    w += <usize>size << 5;
    for (let begin = 0; begin < k; begin += length) {
      const steps = min(length, k - begin);
      for (let p = 0; p < size; ++p) {
        const col = first + (p << 3);
        const left = min(8, n - col);
        if (transposed) packColumns(begin, steps, bRows + (<usize>col << 2), left, w);
        else packRows(steps, bRows + (<usize>begin << 2), <usize>col << 2, left, w);
        w += <usize>steps << 5;
        memory.fill(w, 0, <usize>(length - steps) << 5);
        w += <usize>(length - steps) << 5;
      }
    }
  }
}

/** `k` elements of eight rows, from the one numbered `begin` on, become eight columns of a panel. */
function packColumns(begin: i32, k: i32, bRows: usize, left: i32, w: usize): void {
  for (let lane = 0; lane < 8; ++lane, w += 4) {
    let to = w;
    if (lane >= left) {
      for (let i = 0; i < k; ++i, to += 32) store<f32>(to, 0);
      continue;
    }
    let from = row(bRows, <usize>lane << 2) + (<usize>begin << 2);
    for (const end = from + (<usize>k << 2); from < end; from += 4, to += 32) {
      store<f32>(to, load<f32>(from));
    }
  }
}

/** Up to eight columns of k rows. */
function packRows(k: i32, bRows: usize, offset: usize, left: i32, w: usize): void {
  for (let i = 0; i < k; ++i, w += 32, bRows += 4) {
    const from = row(bRows, 0) + offset;
    v128.store(w, get(from, left));
    v128.store(w, get(from + 16, left - 4), 16);
  }
}

// @ts-ignore: decorator
@inline function check(
  m: i32, n: i32, k1: i32, aRows1: usize, k2: i32, aRows2: usize, w: usize, cRows: usize, act: i32
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkLeast(k1, 0);
    checkLeast(k2, 0);
    checkRows(aRows1, m, <usize>k1 << 2);
    if (k2 > 0) checkRows(aRows2, m, <usize>k2 << 2);
    checkRows(cRows, m, <usize>n << 2);
    checkPacked(w, (n + 7) >> 3, packedBytesOf(k1 + k2));
    assert(isActivation(act), "unknown activation");
  }
}
