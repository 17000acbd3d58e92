import { checkLeast, checkRows } from "./checks";
import { exp4 } from "./math";
import { get, put, row } from "./simd";

/**
 * Softmax along each row of n floats: e^(a_j - max a) / sum. Lane l of four sums the
 * elements j = l (mod 4) in ascending order, then the lanes combine as
 * (s0 + s2) + (s1 + s3): the same roundings in every batch. An output row may be
 * its input row.
 */
export function softmax_rows_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkRows(aRows, m, <usize>n << 2);
    checkRows(outRows, m, <usize>n << 2);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    softmaxRow(n, row(aRows, at), row(outRows, at));
  }
}

/** Softmax of n floats at a, written to out, which may be a. */
export function softmaxRow(n: i32, a: usize, out: usize): void {
  const max = v128.splat<f32>(greatest(n, a));
  const body = a + (<usize>(n & -4) << 2);
  const left = n & 3;
  let o = out;
  let sums = v128.splat<f32>(0);
  for (; a < body; a += 16, o += 16) {
    const e = exp4(f32x4.sub(v128.load(a), max));
    v128.store(o, e);
    sums = f32x4.add(sums, e);
  }
  if (left) {
    put(o, exp4(f32x4.sub(get(a, left), max)), left);
    // Lanes past the row are read back as 0 and so leave the sums alone.
    sums = f32x4.add(sums, get(o, left));
  }
  sums = f32x4.add(sums, i8x16.shuffle(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  const sum = v128.splat<f32>(f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1));
  const end = out + (<usize>(n & -4) << 2);
  for (o = out; o < end; o += 16) v128.store(o, f32x4.div(v128.load(o), sum));
  if (left) put(o, f32x4.div(get(o, left), sum), left);
}

/** Greatest of n floats, whatever the order. A NaN is passed over here: its e^x makes the whole row NaN. */
function greatest(n: i32, a: usize): f32 {
  const end = a + (<usize>n << 2);
  let max = load<f32>(a);
  let lanes = v128.splat<f32>(max), others = lanes;
  for (const body = a + (<usize>(n & -8) << 2); a < body; a += 32) {
    lanes = f32x4.pmax(lanes, v128.load(a));
    others = f32x4.pmax(others, v128.load(a, 16));
  }
  lanes = f32x4.pmax(lanes, others);
  max = f32x4.extract_lane(lanes, 0);
  max = Mathf.max(max, f32x4.extract_lane(lanes, 1));
  max = Mathf.max(max, f32x4.extract_lane(lanes, 2));
  max = Mathf.max(max, f32x4.extract_lane(lanes, 3));
  for (; a < end; a += 4) max = Mathf.max(max, load<f32>(a));
  return max;
}
