// From exact integer sums to results. Activations a were quantised per row as
// a = (q - zero) * scale, weights per column as w = (v - weightZero) * weightScale, so
//   sum (q - zero)(v - weightZero) = sum q v - zero * (sum v - K weightZero) - weightZero * sum q
// Row header: f32 scale, i32 zero, i32 sum of q, 4 bytes unused. A panel: a header with, 8
// columns each, i32 (sum v - K weightZero), i32 weightZero, f32 weightScale, f32 bias, and
// the list of q8_exceptions.ts; then, for every step, 4 numbers of k, 4 bytes of each column.
import { shifter } from "./constants";
import { activate, finish, relu4 } from "./epilogue";
import { op } from "./op";
import {
  HEADER_BYTES, headers, HIGH_BYTES, highSums, kind, n, ofPart, outRows, part, PART_BYTES, partSums, qRows, scale,
  tileSums, zero
} from "./q8_job";
import { put, row } from "./simd";

/** Bytes before a panel's weights. */
export const PANEL_HEADER: usize = 160;

export namespace q8 {
  /** Results: an activation of gemm_f32 gives f32; or one of these. */
  export const I32 = 64;
  export const U8 = 128; // plus an activation
  /** Kept for BOTH as f32. */
  export const PART = 256;
  /** A cell's gate, which ends as job.ts says; BOTH: of the sum and what was kept of it. */
  export const GATE = 512;
  export const BOTH = GATE + 1024;
  export const ACTIVATION = 63;
}

/** Ends columns col..col+7 of the row at byte offset `at` of the job's tables. */
export function finishQ8(lo: v128, hi: v128, header: usize, at: usize, col: i32): void {
  if (ASC_FEATURE_RELAXED_SIMD && ofPart) {
    const high = highSums + at * (HIGH_BYTES >> 2) + (<usize>col << 2);
    if (ofPart == part.HIGH) {
      v128.store(high, i32x4.shl(lo, 7));
      v128.store(high, i32x4.shl(hi, 7), 16);
      return;
    }
    lo = i32x4.add(lo, v128.load(high));
    hi = i32x4.add(hi, v128.load(high, 16));
  }
  const left = n - col;
  if (left <= 0) return;
  const q = headers ? headers + at * (HEADER_BYTES >> 2) : row(qRows, at);
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
    lo = f32x4.add(
      f32x4.mul(f32x4.convert_i32x4_s(lo), f32x4.mul(rowScale, v128.load(header, 64))), v128.load(header, 96)
    );
    hi = f32x4.add(
      f32x4.mul(f32x4.convert_i32x4_s(hi), f32x4.mul(rowScale, v128.load(header, 80))), v128.load(header, 112)
    );
    if (kind >= q8.PART) {
      gate(lo, hi, at, col);
      return;
    }
    const act = kind & q8.ACTIVATION;
    lo = activated(act, lo);
    hi = activated(act, hi);
    if (kind & q8.U8) {
      const bytes = quantize8(lo, hi, v128.splat<f32>(scale), v128.splat<i32>(zero), v128.splat<i16>(255));
      const to = row(outRows, at) + 16 + <usize>col;
      if (left >= 8) v128.store_lane<u64>(to, bytes, 0);
      else storeBytes(to, bytes, left);
      return;
    }
  }
  const to = row(outRows, at) + (<usize>col << 2);
  put(to, lo, left);
  put(to + 16, hi, left - 4);
}

/**
 * Ends columns col..col+7 of `rows` packed rows whose sums wait at tileSums. Whole panels, activation ReLU or none, do
 * so with all that is the same for several rows at hand.
 */
export function finishRows(rows: i32, header: usize, at: usize, col: i32): void {
  const end = at + (<usize>rows << 2);
  if ((kind & q8.ACTIVATION) > op.RELU || ofPart || n - col < 8) {
    for (; at < end; at += 4) {
      const sums = tileSums + (at << 3);
      finishQ8(v128.load(sums), v128.load(sums, 16), header, at, col);
    }
    return;
  }
  const zeroLo = v128.load(header, 32), zeroHi = v128.load(header, 48);
  const anyZero = v128.any_true(v128.or(zeroLo, zeroHi));
  while (at < end) {
    const q = headers + at * (HEADER_BYTES >> 2);
    // Rows of one image, and often of all, have the same scale and zero point.
    let stop = at + 4;
    while (!anyZero && stop < end && load<u64>(headers + stop * (HEADER_BYTES >> 2)) == load<u64>(q)) stop += 4;
    const rowZero = v128.load_splat<i32>(q, 4);
    let startLo = i32x4.mul(rowZero, v128.load(header)), startHi = i32x4.mul(rowZero, v128.load(header, 16));
    if (anyZero) {
      const rowSum = v128.load_splat<i32>(q, 8);
      startLo = i32x4.add(startLo, i32x4.mul(rowSum, zeroLo));
      startHi = i32x4.add(startHi, i32x4.mul(rowSum, zeroHi));
    }
    if (kind == q8.I32) at = subtract(at, stop, startLo, startHi, col);
    else {
      const rowScale = v128.load_splat<f32>(q);
      at = finishAlike(
        at, stop, startLo, startHi, f32x4.mul(rowScale, v128.load(header, 64)), f32x4.mul(rowScale, v128.load(header, 80)),
        v128.load(header, 96), v128.load(header, 112), col
      );
    }
  }
}

/** Ends sums of rows of one header as integers. */
function subtract(at: usize, end: usize, startLo: v128, startHi: v128, col: i32): usize {
  for (; at < end; at += 4) {
    const sums = tileSums + (at << 3);
    const to = row(outRows, at) + (<usize>col << 2);
    v128.store(to, i32x4.sub(v128.load(sums), startLo));
    v128.store(to, i32x4.sub(v128.load(sums, 16), startHi), 16);
  }
  return at;
}

/** The same with scale and bias, as finishQ8() ends them; finite ones to bytes in a loop of its own. */
function finishAlike(
  at: usize, end: usize, startLo: v128, startHi: v128, scaleLo: v128, scaleHi: v128, biasLo: v128, biasHi: v128,
  col: i32
): usize {
  const all = f32x4.add(f32x4.add(scaleLo, scaleHi), f32x4.add(biasLo, biasHi));
  const finite = i32x4.all_true(f32x4.eq(f32x4.sub(all, all), v128.splat<f32>(0)));
  if (kind & q8.U8 && finite && scale > 0) return quantizeAlike(at, end, startLo, startHi, scaleLo, scaleHi, biasLo, biasHi, col);
  for (; at < end; at += 4) {
    const sums = tileSums + (at << 3);
    let lo = scaled(v128.load(sums), startLo, scaleLo, biasLo), hi = scaled(v128.load(sums, 16), startHi, scaleHi, biasHi);
    if (kind >= q8.PART) {
      gate(lo, hi, at, col);
      continue;
    }
    if (kind & op.RELU) {
      lo = relu4(lo);
      hi = relu4(hi);
    }
    const to = row(outRows, at) + (<usize>col << 2);
    if (kind & q8.U8) {
      const bytes = quantize8(lo, hi, v128.splat<f32>(scale), v128.splat<i32>(zero), v128.splat<i16>(255));
      v128.store_lane<u64>(to + 16 - 3 * <usize>col, bytes, 0);
      continue;
    }
    v128.store(to, lo);
    v128.store(to, hi, 16);
  }
  return at;
}

/** To bytes, where nothing can be NaN: cut off before it is rounded, which is the same. ReLU's zero is the zero point. */
function quantizeAlike(
  at: usize, end: usize, startLo: v128, startHi: v128, scaleLo: v128, scaleHi: v128, biasLo: v128, biasHi: v128,
  col: i32
): usize {
  const divisor = v128.splat<f32>(scale), magic = shifter();
  const toPoint = i32x4.sub(magic, v128.splat<i32>(zero));
  const point = <f32>zero;
  const low = v128.splat<f32>(kind & op.RELU ? 0 : -point), high = v128.splat<f32>(255 - point);
  for (; at < end; at += 4) {
    const sums = tileSums + (at << 3);
    const lo = f32x4.div(scaled(v128.load(sums), startLo, scaleLo, biasLo), divisor);
    const hi = f32x4.div(scaled(v128.load(sums, 16), startHi, scaleHi, biasHi), divisor);
    const words = i16x8.narrow_i32x4_s(
      i32x4.sub(f32x4.add(f32x4.pmax(f32x4.pmin(lo, high), low), magic), toPoint),
      i32x4.sub(f32x4.add(f32x4.pmax(f32x4.pmin(hi, high), low), magic), toPoint)
    );
    v128.store_lane<u64>(row(outRows, at) + 16 + <usize>col, i8x16.narrow_i16x8_u(words, words), 0);
  }
  return at;
}

// @ts-ignore: decorator
@inline function scaled(sum: v128, start: v128, scale: v128, bias: v128): v128 {
  return f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(i32x4.sub(sum, start)), scale), bias);
}

/** activate(), without a call where there is little to do. */
// @ts-ignore: decorator
@inline export function activated(act: i32, x: v128): v128 {
  return act == op.RELU ? relu4(x) : act ? activate(act, x) : x;
}

/** Keeps sums of a cell, or hands them to the f32 cells' epilogue. */
// @ts-ignore: decorator
@inline function gate(lo: v128, hi: v128, at: usize, col: i32): void {
  const kept = partSums + (at * (PART_BYTES >> 2)) + (<usize>col << 2);
  if (kind == q8.PART) {
    v128.store(kept, lo);
    v128.store(kept, hi, 16);
    return;
  }
  if (kind == q8.BOTH) {
    lo = f32x4.add(v128.load(kept), lo);
    hi = f32x4.add(v128.load(kept, 16), hi);
  }
  finish(lo, hi, at, col);
}

/** Out of reach of every zero point, and small enough to be shifted. */
const FAR = memory.data<f32>([65536, 65536, 65536, 65536, -65536, -65536, -65536, -65536], 16);

/**
 * Eight numbers to bytes 0..levels, round half to even, in the low half of the result; NaN
 * becomes the zero point. zero: of 4 lanes; bound: levels in 8 lanes.
 */
// @ts-ignore: decorator
@inline export function quantize8(lo: v128, hi: v128, scale: v128, zero: v128, bound: v128): v128 {
  const bytes = i16x8.min_s(steps8(lo, hi, scale, zero), bound);
  return i8x16.narrow_i16x8_u(bytes, bytes);
}

/** The same before they are cut off to bytes, of 16 bits. */
// @ts-ignore: decorator
@inline export function steps8(lo: v128, hi: v128, scale: v128, zero: v128): v128 {
  return i16x8.narrow_i32x4_s(
    i32x4.add(round(f32x4.div(lo, scale)), zero), i32x4.add(round(f32x4.div(hi, scale)), zero)
  );
}

// @ts-ignore: decorator
@inline function round(x: v128): v128 {
  const real = v128.and(x, f32x4.eq(x, x));
  const near = f32x4.pmax(f32x4.pmin(real, v128.load(FAR)), v128.load(FAR, 16));
  return i32x4.sub(f32x4.add(near, shifter()), shifter());
}

/** The first `count` < 8 bytes of v. */
export function storeBytes(to: usize, v: v128, count: i32): void {
  let bytes = <u64>i64x2.extract_lane(v, 0);
  for (; count > 0; --count, ++to, bytes >>= 8) store<u8>(to, <u8>bytes);
}
