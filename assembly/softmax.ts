import { checkLeast, checkRows } from "./checks";
import { expNegative4, powersBody } from "./exponentials";
import { get, put, row } from "./simd";

/**
 * Softmax along each row of n floats: e^(a_j - max a) times 1 / sum. Lane l of four sums the
 * elements j = l (mod 4) in ascending order, then the lanes combine as
 * (s0 + s2) + (s1 + s3): the same roundings in every batch. Powers below 2^-126 are 0. An
 * output row may be its input row.
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
  const inverse = v128.splat<f32>(1 / powers(n, a, max, out));
  const end = out + (<usize>(n & -4) << 2);
  for (const body = out + (<usize>(n & -8) << 2); out < body; out += 32) {
    const first = f32x4.mul(v128.load(out), inverse);
    const second = f32x4.mul(v128.load(out, 16), inverse);
    v128.store(out, first);
    v128.store(out, second, 16);
  }
  for (; out < end; out += 16) v128.store(out, f32x4.mul(v128.load(out), inverse));
  const left = n & 3;
  if (left) put(out, f32x4.mul(get(out, left), inverse), left);
}

/** e^(a_j - max) of n floats to out; returns their sum. */
function powers(n: i32, a: usize, max: v128, out: usize): f32 {
  let sums = powersBody(n, a, max, out, v128.splat<f32>(0));
  const end = a + (<usize>(n & -4) << 2);
  const done = <usize>(n & -16) << 2;
  a += done;
  out += done;
  for (; a < end; a += 16, out += 16) {
    const e = expNegative4(f32x4.sub(v128.load(a), max));
    v128.store(out, e);
    sums = f32x4.add(sums, e);
  }
  const left = n & 3;
  if (left) {
    put(out, expNegative4(f32x4.sub(get(a, left), max)), left);
    // Lanes past the row are read back as 0 and so leave the sums alone.
    sums = f32x4.add(sums, get(out, left));
  }
  sums = f32x4.add(sums, i8x16.shuffle(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return f32x4.extract_lane(sums, 0) + f32x4.extract_lane(sums, 1);
}

/** Greatest of n floats, whatever the order. A NaN is passed over here: its e^x makes the whole row NaN. */
function greatest(n: i32, a: usize): f32 {
  const end = a + (<usize>n << 2);
  let max = load<f32>(a);
  let l0 = v128.splat<f32>(max), l1 = l0, l2 = l0, l3 = l0;
  for (const body = a + (<usize>(n & -16) << 2); a < body; a += 64) {
    l0 = f32x4.pmax(l0, v128.load(a));
    l1 = f32x4.pmax(l1, v128.load(a, 16));
    l2 = f32x4.pmax(l2, v128.load(a, 32));
    l3 = f32x4.pmax(l3, v128.load(a, 48));
  }
  for (const body = a + ((end - a) & ~15); a < body; a += 16) l0 = f32x4.pmax(l0, v128.load(a));
  l0 = f32x4.pmax(f32x4.pmax(l0, l1), f32x4.pmax(l2, l3));
  max = f32x4.extract_lane(l0, 0);
  max = Mathf.max(max, f32x4.extract_lane(l0, 1));
  max = Mathf.max(max, f32x4.extract_lane(l0, 2));
  max = Mathf.max(max, f32x4.extract_lane(l0, 3));
  for (; a < end; a += 4) max = Mathf.max(max, load<f32>(a));
  return max;
}
