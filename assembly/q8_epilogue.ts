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
      const s = v128.splat<f32>(scale), magic = shifter();
      const words = steps8(f32x4.div(lo, s), f32x4.div(hi, s), leastOf(zero), mostOf(zero, 255), magic, pointOf(zero, magic));
      const bytes = i8x16.narrow_i16x8_u(words, words);
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
 * so in a loop with the panel's header at hand: a call for each row takes longer than what it does.
 */
export function finishRows(rows: i32, header: usize, at: usize, col: i32): void {
  const end = at + (<usize>rows << 2);
  const code = kind;
  if ((code & q8.ACTIVATION) > op.RELU || ofPart || n - col < 8 || (code & q8.U8 && !(scale > 0))) {
    for (; at < end; at += 4) {
      const sums = tileSums + (at << 3);
      finishQ8(v128.load(sums), v128.load(sums, 16), header, at, col);
    }
    return;
  }
  const anyZero = v128.any_true(v128.or(v128.load(header, 32), v128.load(header, 48)));
  if (code == q8.I32) {
    subtract(end, header, at, col, anyZero);
    return;
  }
  if (code & q8.U8) {
    quantize(end, header, at, col, anyZero);
    return;
  }
  const scaleLo = v128.load(header, 64), scaleHi = v128.load(header, 80);
  const biasLo = v128.load(header, 96), biasHi = v128.load(header, 112);
  for (; at < end; at += 4) {
    const q = headers + at * (HEADER_BYTES >> 2);
    const sums = tileSums + (at << 3);
    const rowScale = v128.load_splat<f32>(q);
    let lo = scaled(v128.load(sums), startOf(q, header, anyZero), f32x4.mul(rowScale, scaleLo), biasLo);
    let hi = scaled(v128.load(sums, 16), startOf(q, header + 16, anyZero), f32x4.mul(rowScale, scaleHi), biasHi);
    if (code >= q8.PART) {
      gate(lo, hi, at, col);
      continue;
    }
    if (code) {
      lo = relu4(lo);
      hi = relu4(hi);
    }
    const to = row(outRows, at) + (<usize>col << 2);
    v128.store(to, lo);
    v128.store(to, hi, 16);
  }
}

/** What the sums of a row of header q have too much, in four columns. */
// @ts-ignore: decorator
@inline function startOf(q: usize, columns: usize, anyZero: bool): v128 {
  const start = i32x4.mul(v128.load_splat<i32>(q, 4), v128.load(columns));
  return anyZero ? i32x4.add(start, i32x4.mul(v128.load_splat<i32>(q, 8), v128.load(columns, 32))) : start;
}

/** Ends sums of rows as integers; rows of one image, and often of all, have the same zero point. */
function subtract(end: usize, header: usize, at: usize, col: i32, anyZero: bool): void {
  while (at < end) {
    let q = headers + at * (HEADER_BYTES >> 2);
    const rowZero = load<i32>(q, 4);
    const startLo = startOf(q, header, anyZero), startHi = startOf(q, header + 16, anyZero);
    do {
      const sums = tileSums + (at << 3);
      const to = row(outRows, at) + (<usize>col << 2);
      v128.store(to, i32x4.sub(v128.load(sums), startLo));
      v128.store(to, i32x4.sub(v128.load(sums, 16), startHi), 16);
      at += 4;
      q += HEADER_BYTES;
    } while (at < end && !anyZero && load<i32>(q, 4) == rowZero);
  }
}

/** Ends sums as bytes, of finite scale above 0; ReLU's zero is the zero point. */
function quantize(end: usize, header: usize, at: usize, col: i32, anyZero: bool): void {
  const divisor = v128.splat<f32>(scale), magic = shifter(), point = pointOf(zero, magic);
  const least = kind & op.RELU ? v128.splat<f32>(0) : leastOf(zero), most = mostOf(zero, 255);
  while (at < end) {
    let q = headers + at * (HEADER_BYTES >> 2);
    const head = load<u64>(q);
    const startLo = startOf(q, header, anyZero), startHi = startOf(q, header + 16, anyZero);
    const rowScale = v128.load_splat<f32>(q);
    const scaleLo = f32x4.mul(rowScale, v128.load(header, 64)), scaleHi = f32x4.mul(rowScale, v128.load(header, 80));
    do {
      const sums = tileSums + (at << 3);
      const lo = f32x4.div(scaled(v128.load(sums), startLo, scaleLo, v128.load(header, 96)), divisor);
      const hi = f32x4.div(scaled(v128.load(sums, 16), startHi, scaleHi, v128.load(header, 112)), divisor);
      const words = steps8(lo, hi, least, most, magic, point);
      v128.store_lane<u64>(row(outRows, at) + 16 + <usize>col, i8x16.narrow_i16x8_u(words, words), 0);
      at += 4;
      q += HEADER_BYTES;
    } while (at < end && !anyZero && load<u64>(q) == head);
  }
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

/**
 * Eight quotients to bytes of 16 bits, cut off to `least`..`most` before they are rounded, half to even, which is the
 * same; NaN becomes the zero point.
 */
// @ts-ignore: decorator
@inline export function steps8(lo: v128, hi: v128, least: v128, most: v128, magic: v128, point: v128): v128 {
  return i16x8.narrow_i32x4_s(near(lo, least, most, magic, point), near(hi, least, most, magic, point));
}

// @ts-ignore: decorator
@inline function near(x: v128, least: v128, most: v128, magic: v128, point: v128): v128 {
  const real = v128.and(x, f32x4.eq(x, x));
  return i32x4.sub(f32x4.add(f32x4.pmax(f32x4.pmin(real, most), least), magic), point);
}

/** What steps8() takes: quotients of bytes 0 and `levels`, and what is left of `magic` where a quotient is 0. */
// @ts-ignore: decorator
@inline export function leastOf(zero: i32): v128 {
  return v128.splat<f32>(<f32>-zero);
}

// @ts-ignore: decorator
@inline export function mostOf(zero: i32, levels: i32): v128 {
  return v128.splat<f32>(<f32>(levels - zero));
}

// @ts-ignore: decorator
@inline export function pointOf(zero: i32, magic: v128): v128 {
  return i32x4.sub(magic, v128.splat<i32>(zero));
}

/** The first `count` < 8 bytes of v. */
export function storeBytes(to: usize, v: v128, count: i32): void {
  let bytes = <u64>i64x2.extract_lane(v, 0);
  for (; count > 0; --count, ++to, bytes >>= 8) store<u8>(to, <u8>bytes);
}
