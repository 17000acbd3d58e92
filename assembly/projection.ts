import { checkArray, checkLeast, checkPacked, checkRows } from "./checks";
import { op } from "./op";
import { reads, writes } from "./job";
import { row } from "./simd";
import { packedBytesOf, sweepPacked } from "./pieces";

/**
 * Projection onto a vocabulary and arg-max in one pass: logits[i][j] = bias[j] +
 * sum_k a[i][k] * w[k][j] as in gemm_f32. Writes the i32 column of the greatest
 * logit (the lowest wins ties) to address idOutRows[i] and that logit to bestOut[i]
 * (m f32). Logits are stored only when logitsRows is not 0; otherwise no m x n buffer
 * exists. NaN never wins; a row without any logit above -infinity yields column 0.
 */
export function projection_argmax_f32(
  m: i32, n: i32, k: i32, aRows: usize, w: usize, idOutRows: usize, logitsRows: usize, bestOut: usize
): void {
  const panels = (n + 7) >> 3;
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkLeast(k, 1);
    checkRows(aRows, m, <usize>k << 2);
    checkRows(idOutRows, m, 4);
    if (logitsRows) checkRows(logitsRows, m, <usize>n << 2);
    checkArray(bestOut, <usize>m << 2);
    checkPacked(w, panels, packedBytesOf(k));
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    store<f32>(bestOut + at, -Infinity);
    store<i32>(row(idOutRows, at), 0);
  }
  reads(k, aRows, 0, 0, 0);
  writes(n, op.ARGMAX, idOutRows, logitsRows, bestOut);
  sweepPacked(m, 0, panels, panels, w, 1);
}

/** Writes the i32 column of each row's greatest element to address idOutRows[i]; ties and NaN as in projection_argmax_f32. */
export function argmax_rows_f32(m: i32, n: i32, aRows: usize, idOutRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkRows(aRows, m, <usize>n << 2);
    checkRows(idOutRows, m, 4);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    store<i32>(row(idOutRows, at), greatest(n, row(aRows, at)));
  }
}

function greatest(n: i32, a: usize): i32 {
  let best: f32 = -Infinity;
  let id = 0;
  let j = 0;
  for (; j + 16 <= n; j += 16, a += 64) {
    // Few elements are greater than all before them: most are passed over sixteen at a time.
    const bound = v128.splat<f32>(best);
    const some = v128.or(
      v128.or(f32x4.gt(v128.load(a), bound), f32x4.gt(v128.load(a, 16), bound)),
      v128.or(f32x4.gt(v128.load(a, 32), bound), f32x4.gt(v128.load(a, 48), bound))
    );
    if (!v128.any_true(some)) continue;
    for (let i = 0; i < 16; ++i) {
      const value = load<f32>(a + (<usize>i << 2));
      if (value > best) {
        best = value;
        id = j + i;
      }
    }
  }
  for (; j < n; ++j, a += 4) {
    const value = load<f32>(a);
    if (value > best) {
      best = value;
      id = j;
    }
  }
  return id;
}
