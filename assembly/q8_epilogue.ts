// From exact integer sums to results. Activations a were quantised per row as
// a = (q - zero) * scale, weights per column as w = (v - weightZero) * weightScale, so
//   sum (q - zero)(v - weightZero) = sum q v - zero * (sum v - K weightZero) - weightZero * sum q
// Row header: f32 scale, i32 zero, i32 sum of q, 4 bytes unused. Panel header, 8 columns
// each: i32 (sum v - K weightZero), i32 weightZero, f32 weightScale, f32 bias.
import { activate } from "./epilogue";
import { put } from "./simd";

export namespace q8 {
  /** Results: an activation of gemm_f32 gives f32; or one of these. */
  export const I32 = 64;
  export const U8 = 128; // plus an activation
}

/** Ends columns col..col+7 of one row. */
export function finishQ8(
  kind: i32, lo: v128, hi: v128, q: usize, header: usize, out: usize, col: i32, n: i32,
  scale: f32, zero: i32
): void {
  const left = n - col;
  if (left <= 0) return;
  const rowZero = v128.load_splat<i32>(q, 4);
  const rowSum = v128.load_splat<i32>(q, 8);
  lo = i32x4.sub(lo, i32x4.add(
    i32x4.mul(rowZero, v128.load(header)), i32x4.mul(rowSum, v128.load(header, 32))
  ));
  hi = i32x4.sub(hi, i32x4.add(
    i32x4.mul(rowZero, v128.load(header, 16)), i32x4.mul(rowSum, v128.load(header, 48))
  ));
  if (kind != q8.I32) {
    const rowScale = v128.load_splat<f32>(q);
    const act = kind & ~q8.U8;
    lo = activate(act, f32x4.add(
      f32x4.mul(f32x4.convert_i32x4_s(lo), f32x4.mul(rowScale, v128.load(header, 64))), v128.load(header, 96)
    ));
    hi = activate(act, f32x4.add(
      f32x4.mul(f32x4.convert_i32x4_s(hi), f32x4.mul(rowScale, v128.load(header, 80))), v128.load(header, 112)
    ));
  }
  if (kind & q8.U8) {
    const bytes = quantize8(lo, hi, v128.splat<f32>(scale), v128.splat<i32>(zero), 255);
    const to = out + 16 + <usize>col;
    if (left >= 8) v128.store_lane<u64>(to, bytes, 0);
    else storeBytes(to, bytes, left);
    return;
  }
  const to = out + (<usize>col << 2);
  put(to, lo, left);
  put(to + 16, hi, left - 4);
}

/** Eight numbers to bytes 0..levels, round half to even, in the low half of the result. */
// @ts-ignore: decorator
@inline export function quantize8(lo: v128, hi: v128, scale: v128, zero: v128, levels: i32): v128 {
  const bound = v128.splat<i32>(levels);
  const none = v128.splat<i32>(0);
  // trunc_sat takes what is out of range to the ends of i32, where adding zero could wrap.
  const far = v128.splat<f32>(65536);
  const a = f32x4.max(f32x4.min(f32x4.nearest(f32x4.div(lo, scale)), far), f32x4.neg(far));
  const b = f32x4.max(f32x4.min(f32x4.nearest(f32x4.div(hi, scale)), far), f32x4.neg(far));
  const c = i32x4.max_s(i32x4.min_s(i32x4.add(i32x4.trunc_sat_f32x4_s(a), zero), bound), none);
  const d = i32x4.max_s(i32x4.min_s(i32x4.add(i32x4.trunc_sat_f32x4_s(b), zero), bound), none);
  const narrow = i16x8.narrow_i32x4_s(c, d);
  return i8x16.narrow_i16x8_u(narrow, narrow);
}

/** The first `count` < 8 bytes of v. */
export function storeBytes(to: usize, v: v128, count: i32): void {
  let bytes = <u64>i64x2.extract_lane(v, 0);
  for (; count > 0; --count, ++to, bytes >>= 8) store<u8>(to, <u8>bytes);
}
