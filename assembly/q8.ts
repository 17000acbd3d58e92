// int8 GEMM. Activations are quantised per row, so a row never depends on its batch;
// sums are exact 32-bit integers and the same in every build and engine. Formats stand in
// q8_epilogue.ts. Activations of 7 bits (levels = 127) may use relaxed SIMD's dot product,
// which is exact for them in every engine, for 8 bits in some (q8_bytes.ts); 8 bits (levels = 255)
// have ONNX's semantics.
import { checkLeast, checkPacked, checkProducts, checkRows } from "./checks";
import { shifter } from "./constants";
import { isActivation, lateActivation } from "./op";
import { leastOf, mostOf, PANEL_HEADER, pointOf, q8, steps8, storeBytes } from "./q8_epilogue";
import { checkExceptions } from "./q8_exceptions";
import { requantizes, writesQ8 } from "./q8_job";
import { q8PanelBytes, sweepQ8 } from "./q8_sweep";
import { wholeBytes } from "./scratch";
import { get, row } from "./simd";
import { activateRows } from "./unary";

const ROW_HEADER: usize = 16;

/** Bytes of a quantised row of k elements: its header and k bytes, rounded up to 4. */
// @ts-ignore: decorator
@inline export function q8RowBytes(k: i32): usize {
  return ROW_HEADER + (<usize>(k + 3) & ~3);
}

/**
 * Dynamic quantisation of rows of k floats (ONNX DynamicQuantizeLinear, for every row on
 * its own): scale = (max(a, 0) - min(a, 0)) / levels, zero = round(-min / scale),
 * q = clamp(round(a / scale) + zero, 0, levels), rounding half to even. A row of zeros
 * has scale 1, one with a NaN the scale NaN and bytes 0. levels: 255, or 127 for the 7-bit path. Quantised rows: 16 bytes of
 * header, then k bytes, padded to a multiple of 4 with 0; 4-byte aligned.
 */
export function quantize_rows_f32(m: i32, k: i32, levels: i32, aRows: usize, qRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(k, 1);
    assert(levels == 127 || levels == 255, "levels must be 127 or 255");
    checkRows(aRows, m, <usize>k << 2);
    checkRows(qRows, m, q8RowBytes(k));
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(aRows, at);
    const q = row(qRows, at);
    let lows = v128.splat<f32>(0), highs = lows, lows2 = lows, highs2 = lows;
    // pmin and pmax pass over a NaN, a sum keeps it.
    let sums = lows, sums2 = lows;
    let p = a;
    let left = k;
    for (; left >= 8; left -= 8, p += 32) {
      const x = v128.load(p), y = v128.load(p, 16);
      lows = f32x4.pmin(lows, x);
      highs = f32x4.pmax(highs, x);
      lows2 = f32x4.pmin(lows2, y);
      highs2 = f32x4.pmax(highs2, y);
      sums = f32x4.add(sums, x);
      sums2 = f32x4.add(sums2, y);
    }
    for (; left > 0; left -= 4, p += 16) {
      const x = get(p, left);
      lows = f32x4.pmin(lows, x);
      highs = f32x4.pmax(highs, x);
      sums = f32x4.add(sums, x);
    }
    lows = f32x4.pmin(lows, lows2);
    highs = f32x4.pmax(highs, highs2);
    const low = min(min(f32x4.extract_lane(lows, 0), f32x4.extract_lane(lows, 1)),
      min(f32x4.extract_lane(lows, 2), f32x4.extract_lane(lows, 3)));
    const high = max(max(f32x4.extract_lane(highs, 0), f32x4.extract_lane(highs, 1)),
      max(f32x4.extract_lane(highs, 2), f32x4.extract_lane(highs, 3)));
    const isNumbers = i32x4.all_true(v128.and(f32x4.eq(sums, sums), f32x4.eq(sums2, sums2))) || !hasNaN(k, a);
    const scale: f32 = !isNumbers ? NaN : high == low ? 1 : (high - low) / <f32>levels;
    const zero = min(max(<i32>nearest<f32>(-low / scale), 0), levels);
    store<f32>(q, scale);
    store<i32>(q, zero, 4);
    bytesOf(k, a, scale, zero, levels, q);
  }
}

/** Whether one of k floats is a NaN; infinities of both signs have none, but such a sum. */
function hasNaN(k: i32, a: usize): bool {
  for (const end = a + (<usize>k << 2); a < end; a += 4) {
    const x = load<f32>(a);
    if (x != x) return true;
  }
  return false;
}

/** Quantises with a given scale and zero point (ONNX QuantizeLinear to uint8) into rows with headers. */
export function quantize_static_rows_f32(
  m: i32, k: i32, scale: f32, zero: i32, aRows: usize, qRows: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(k, 1);
    assert(zero >= 0 && zero <= 255, "zero point is not a byte");
    checkRows(aRows, m, <usize>k << 2);
    checkRows(qRows, m, q8RowBytes(k));
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const q = row(qRows, at);
    store<f32>(q, scale);
    store<i32>(q, zero, 4);
    bytesOf(k, row(aRows, at), scale, zero, 255, q);
  }
}

function bytesOf(k: i32, a: usize, scale: f32, zero: i32, levels: i32, q: usize): void {
  const s = v128.splat<f32>(scale), magic = shifter();
  const least = leastOf(zero), most = mostOf(zero, levels), point = pointOf(zero, magic);
  let to = q + ROW_HEADER;
  const end = to + k;
  for (; to + 8 <= end; a += 32, to += 8) {
    const words = steps8(f32x4.div(v128.load(a), s), f32x4.div(v128.load(a, 16), s), least, most, magic, point);
    v128.store_lane<u64>(to, i8x16.narrow_i16x8_u(words, words), 0);
  }
  for (; to < end; a += 4, ++to) {
    const x = load<f32>(a) / scale;
    const real: f32 = x == x ? x : 0;
    const byte = zero + <i32>nearest<f32>(min<f32>(max<f32>(real, <f32>-zero), <f32>(levels - zero)));
    store<u8>(to, byte);
  }
  seal(k, q);
}

/** Clears the padding bytes and stores the sum of a quantised row. */
export function seal(k: i32, q: usize): void {
  pad(k, q);
  store<i32>(q, sumOf(q + ROW_HEADER, k), 8);
  store<i32>(q, 0, 12);
}

/** Clears the padding bytes of a quantised row. */
export function pad(k: i32, q: usize): void {
  for (let i = k; i & 3; ++i) store<u8>(q + ROW_HEADER + i, 0);
}

function total(sums: v128): i32 {
  return i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) +
    i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
}

/** The sum of bytes. */
export function sumOf(a: usize, count: i32): i32 {
  const end = a + count;
  let sums = v128.splat<i32>(0);
  if (ASC_FEATURE_RELAXED_SIMD && wholeBytes) {
    // A sum waits for the one before it: four of them.
    const ones = v128.splat<i8>(1);
    let b = sums, c = sums, d = sums;
    for (; a + 64 <= end; a += 64) {
      sums = i32x4.relaxed_dot_i8x16_i7x16_add_s(ones, v128.load(a), sums);
      b = i32x4.relaxed_dot_i8x16_i7x16_add_s(ones, v128.load(a, 16), b);
      c = i32x4.relaxed_dot_i8x16_i7x16_add_s(ones, v128.load(a, 32), c);
      d = i32x4.relaxed_dot_i8x16_i7x16_add_s(ones, v128.load(a, 48), d);
    }
    sums = i32x4.add(i32x4.add(sums, b), i32x4.add(c, d));
  }
  for (; a + 16 <= end; a += 16) {
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(v128.load(a))));
  }
  let sum = total(sums);
  for (; a < end; ++a) sum += load<u8>(a);
  return sum;
}

/**
 * c[i][j] = act(scale_i * weightScale_j * exact sum + bias_j), f32. seven = 1: all q are below 128. k is at most
 * 65793.
 */
export function gemm_q8_f32(
  m: i32, n: i32, k: i32, seven: i32, qRows: usize, w: usize, cRows: usize, act: i32
): void {
  if (!ASC_NO_ASSERT) {
    check(m, n, k, seven, qRows, w);
    checkRows(cRows, m, <usize>n << 2);
    assert(isActivation(act), "unknown activation");
  }
  const late = lateActivation(act);
  writesQ8(n, act - late, cRows);
  sweepQ8(m, k, seven, qRows, 0, w);
  if (late) activateRows(late, m, cRows, 0, n);
}

/** c[i][j] = exact sum, i32 (ONNX MatMulInteger). */
export function gemm_q8_i32(m: i32, n: i32, k: i32, seven: i32, qRows: usize, w: usize, cRows: usize): void {
  if (!ASC_NO_ASSERT) {
    check(m, n, k, seven, qRows, w);
    checkRows(cRows, m, <usize>n << 2);
  }
  writesQ8(n, q8.I32, cRows);
  sweepQ8(m, k, seven, qRows, 0, w);
}

/**
 * gemm_q8_f32, requantised with a given scale and zero point (ONNX QLinearMatMul): cRows
 * are quantised rows of n bytes with their header, ready to be the next one's qRows.
 */
export function gemm_q8_u8(
  m: i32, n: i32, k: i32, seven: i32, qRows: usize, w: usize, cRows: usize, act: i32, scale: f32, zero: i32
): void {
  if (!ASC_NO_ASSERT) {
    check(m, n, k, seven, qRows, w);
    checkRows(cRows, m, q8RowBytes(n));
    assert(isActivation(act), "unknown activation");
    assert(zero >= 0 && zero <= 255, "zero point is not a byte");
  }
  requantizes(scale, zero);
  writesQ8(n, act | q8.U8, cRows);
  sweepQ8(m, k, seven, qRows, 0, w);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const c = row(cRows, at);
    store<f32>(c, scale);
    store<i32>(c, zero, 4);
    seal(n, c);
  }
}

function check(m: i32, n: i32, k: i32, seven: i32, qRows: usize, w: usize): void {
  checkLeast(n, 1);
  checkProducts(k);
  checkQ8Rows(m, k, seven, qRows);
  checkPacked(w, (n + 7) >> 3, q8PanelBytes(k));
  if (seven) {
    for (let j = 0; j < n; j += 8) checkQ8Panel(w + <usize>(j >> 3) * q8PanelBytes(k), k);
  }
}

/** Traps unless the panel's list of exceptions is true. */
export function checkQ8Panel(panel: usize, k: i32): void {
  if (!ASC_NO_ASSERT) checkExceptions(panel, (k + 3) >> 2, panel + PANEL_HEADER);
}

/** Traps unless quantised rows of k bytes lie inside memory, and hold what `seven` promises. */
export function checkQ8Rows(m: i32, k: i32, seven: i32, qRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkRows(qRows, m, q8RowBytes(k));
    if (!seven) return;
    for (let i = 0; i < m; ++i) {
      const q = row(qRows, <usize>i << 2) + ROW_HEADER;
      for (let j = 0; j < k; ++j) assert(load<u8>(q + j) < 128, "an activation has more than 7 bits");
    }
  }
}
