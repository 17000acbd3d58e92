// Normalisations along a row. Sums run in eight lanes, lane l taking the elements
// j = l (mod 8) in ascending order; the lanes combine in one fixed order (total()), so a
// row's bits depend on that row alone.
import { checkArray, checkLeast, checkRows } from "./checks";
import { get, put, row } from "./simd";

/**
 * Layer normalisation (Ba, Kiros, Hinton 2016), two passes over the row:
 *   out_j = (a_j - mean) / sqrt(variance + epsilon) * gamma_j + beta_j
 * gamma: n floats; beta: n floats, or 0 for none. An output row may be its input row.
 */
export function layer_norm_f32(
  m: i32, n: i32, aRows: usize, gamma: usize, beta: usize, epsilon: f32, outRows: usize
): void {
  check(m, n, aRows, gamma, outRows);
  if (!ASC_NO_ASSERT && beta) checkArray(beta, <usize>n << 2);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(aRows, at);
    const mean = sum(n, a) / <f32>n;
    const inverse: f32 = 1 / sqrt<f32>(squares(n, a, mean) / <f32>n + epsilon);
    scaleRow(n, a, mean, inverse, gamma, beta, row(outRows, at));
  }
}

/** RMS normalisation (Zhang, Sennrich 2019): out_j = a_j / sqrt(mean of a^2 + epsilon) * gamma_j. */
export function rms_norm_f32(
  m: i32, n: i32, aRows: usize, gamma: usize, epsilon: f32, outRows: usize
): void {
  check(m, n, aRows, gamma, outRows);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(aRows, at);
    const inverse: f32 = 1 / sqrt<f32>(squares(n, a, 0) / <f32>n + epsilon);
    scaleRow(n, a, 0, inverse, gamma, 0, row(outRows, at));
  }
}

// @ts-ignore: decorator
@inline function check(m: i32, n: i32, aRows: usize, gamma: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkRows(aRows, m, <usize>n << 2);
    checkRows(outRows, m, <usize>n << 2);
    checkArray(gamma, <usize>n << 2);
  }
}

function sum(n: i32, a: usize): f32 {
  let lo = v128.splat<f32>(0), hi = lo;
  for (const body = a + (<usize>(n & -8) << 2); a < body; a += 32) {
    lo = f32x4.add(lo, v128.load(a));
    hi = f32x4.add(hi, v128.load(a, 16));
  }
  const left = n & 7;
  if (left) {
    lo = f32x4.add(lo, get(a, left));
    hi = f32x4.add(hi, get(a + 16, left - 4));
  }
  return total(lo, hi);
}

/** Sum of (a_j - mean)^2. */
function squares(n: i32, a: usize, mean: f32): f32 {
  const center = v128.splat<f32>(mean);
  let lo = v128.splat<f32>(0), hi = lo;
  for (const body = a + (<usize>(n & -8) << 2); a < body; a += 32) {
    const x = f32x4.sub(v128.load(a), center);
    const y = f32x4.sub(v128.load(a, 16), center);
    lo = f32x4.add(lo, f32x4.mul(x, x));
    hi = f32x4.add(hi, f32x4.mul(y, y));
  }
  for (let left = n & 7, lane = 0; lane < left; ++lane, a += 4) {
    // One lane at a time: lanes past the row would add mean^2.
    const x = load<f32>(a) - mean;
    const square = f32x4.replace_lane(v128.splat<f32>(0), 0, x * x);
    if (lane < 4) lo = f32x4.add(lo, place(square, lane));
    else hi = f32x4.add(hi, place(square, lane - 4));
  }
  return total(lo, hi);
}

/** Moves lane 0 to `lane`; the other lanes are 0 and stay so. */
function place(v: v128, lane: i32): v128 {
  const zero = v128.splat<f32>(0);
  const x = f32x4.extract_lane(v, 0);
  switch (lane) {
    case 0: return v;
    case 1: return f32x4.replace_lane(zero, 1, x);
    case 2: return f32x4.replace_lane(zero, 2, x);
    default: return f32x4.replace_lane(zero, 3, x);
  }
}

function total(lo: v128, hi: v128): f32 {
  const four = f32x4.add(lo, hi);
  const two = f32x4.add(four, i8x16.shuffle(four, four, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return f32x4.extract_lane(two, 0) + f32x4.extract_lane(two, 1);
}

function scaleRow(
  n: i32, a: usize, mean: f32, inverse: f32, gamma: usize, beta: usize, out: usize
): void {
  const center = v128.splat<f32>(mean);
  const factor = v128.splat<f32>(inverse);
  for (let left = n; left > 0; left -= 4, a += 16, gamma += 16, out += 16) {
    let x = f32x4.mul(f32x4.mul(f32x4.sub(get(a, left), center), factor), get(gamma, left));
    if (beta) {
      x = f32x4.add(x, get(beta, left));
      beta += 16;
    }
    put(out, x, left);
  }
}
