// A right operand of int8 that is not a constant: quantised rows become panels, each byte less 128, so
// that it is signed. No pair of steps is chained (q8_exceptions.ts): looking for those that may be would
// take as long as it saves.
import { checkLeast, checkPacked, checkRows } from "./checks";
import { q8RowBytes } from "./q8";
import { PANEL_HEADER } from "./q8_epilogue";
import { interleave } from "./q8_pack";
import { q8PanelBytes } from "./q8_sweep";
import { eight, row } from "./simd";

/** Products of two bytes, each less its zero point, whose sums fit 32 bits. */
const K_MAX = 33025;
const FLIP: i32 = 0x80808080;

/**
 * Packs a right operand of int8 that is not a constant into the panels gemm_q8_f32, _i32 and _u8 take:
 * n columns of k bytes, bias 0. transposed = 1: qRows are n quantised rows of k bytes, each of which is a
 * column of the product with its own scale and zero point (keys in attention); 0: k quantised rows of n
 * bytes, all with the first one's scale and zero point. k is at most 33025. w: ceil(n / 8) panels of
 * 160 + 32 * ceil(k / 4) bytes, 16-byte aligned; what padding columns hold is of no meaning.
 */
export function pack_gemm_q8(n: i32, k: i32, qRows: usize, transposed: i32, w: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 1);
    checkLeast(k, 1);
    assert(k <= K_MAX, "k is too large for sums of 32 bits");
    checkRows(qRows, transposed ? n : k, q8RowBytes(transposed ? k : n));
    checkPacked(w, (n + 7) >> 3, q8PanelBytes(k));
  }
  const panelBytes = q8PanelBytes(k);
  for (let col = 0; col < n; col += 16, w += panelBytes << 1) {
    const columns = n - col;
    const apart = columns > 8 ? panelBytes : 0;
    memory.fill(w + apart, 0, PANEL_HEADER);
    memory.fill(w, 0, PANEL_HEADER);
    if (!transposed) {
      packRows(k, qRows, col, columns, w, apart);
      continue;
    }
    const columnsOf = qRows + (<usize>col << 2);
    if (apart) packColumns(k, columnsOf + 32, min(8, columns - 8), w + apart);
    packColumns(k, columnsOf, min(8, columns), w);
  }
}

/** A column's constants; sum: of its bytes. */
function describe(k: i32, header: usize, sum: i32, lane: usize, w: usize): void {
  const zero = load<i32>(header, 4);
  const to = w + (lane << 2);
  store<i32>(to, sum - k * zero);
  store<i32>(to, zero - 128, 32);
  store<f32>(to, load<f32>(header), 64);
}

/** Up to eight quantised rows become the columns of a panel. */
function packColumns(k: i32, qRows: usize, columns: i32, w: usize): void {
  const steps = (k + 3) >> 2;
  // The last of an odd number goes with itself.
  for (let lane = 0; lane < columns; ++lane) {
    const q = row(qRows, <usize>lane << 2);
    describe(k, q, load<i32>(q, 8), lane, w);
    if (lane & 1) continue;
    const next = lane + 1 < columns ? row(qRows, (<usize>lane << 2) + 4) : q;
    interleave(steps, q + 16, next + 16, w + PANEL_HEADER + (<usize>lane << 2), 32, 0, -1, FLIP);
  }
}

/**
 * Up to sixteen columns of k quantised rows, two panels: what is read is whole vectors, and a line of a row is
 * come to half as often. The second lies `apart` from w; a lone panel is written over it.
 */
function packRows(k: i32, qRows: usize, col: i32, columns: i32, w: usize, apart: usize): void {
  const flip = v128.splat<i32>(FLIP), none = v128.splat<i32>(0);
  const header = row(qRows, 0);
  let sums0 = none, sums1 = none, sums2 = none, sums3 = none;
  const from = 16 + <usize>col;
  let to = w + PANEL_HEADER;
  for (let i = 0; i < k; i += 4, qRows += 16, to += 32) {
    const a = sixteen(row(qRows, 0) + from, columns);
    const b = i + 1 < k ? sixteen(row(qRows, 4) + from, columns) : none;
    const c = i + 2 < k ? sixteen(row(qRows, 8) + from, columns) : none;
    const d = i + 3 < k ? sixteen(row(qRows, 12) + from, columns) : none;
    let ab = v128.shuffle<u8>(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    let cd = v128.shuffle<u8>(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    let low = v128.shuffle<u16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    let high = v128.shuffle<u16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
    sums2 = i32x4.add(sums2, bytesOf(low));
    sums3 = i32x4.add(sums3, bytesOf(high));
    v128.store(to + apart, v128.xor(low, flip));
    v128.store(to + apart, v128.xor(high, flip), 16);
    ab = v128.shuffle<u8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    cd = v128.shuffle<u8>(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    low = v128.shuffle<u16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    high = v128.shuffle<u16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
    sums0 = i32x4.add(sums0, bytesOf(low));
    sums1 = i32x4.add(sums1, bytesOf(high));
    v128.store(to, v128.xor(low, flip));
    v128.store(to, v128.xor(high, flip), 16);
  }
  describeEight(k, header, sums2, sums3, w + apart);
  describeEight(k, header, sums0, sums1, w);
}

/** Sums of each four bytes. */
// @ts-ignore: decorator
@inline function bytesOf(x: v128): v128 {
  return i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(x));
}

/** The first 16 bytes at p, `count` if there are no more; never reads past them. */
// @ts-ignore: decorator
@inline function sixteen(p: usize, count: i32): v128 {
  return count >= 16 ? v128.load(p) : pieces(p, count);
}

function pieces(p: usize, count: i32): v128 {
  const first = eight(p, count);
  return count > 8 ? v128.shuffle<u64>(first, eight(p + 8, count - 8), 0, 2) : first;
}

/** Eight columns' constants, of one scale and zero point. */
function describeEight(k: i32, header: usize, lows: v128, highs: v128, w: usize): void {
  const zero = v128.load32_splat(header, 4);
  const shift = i32x4.mul(zero, v128.splat<i32>(k)), fromSigned = i32x4.sub(zero, v128.splat<i32>(128));
  const scale = v128.load32_splat(header);
  v128.store(w, i32x4.sub(lows, shift));
  v128.store(w, i32x4.sub(highs, shift), 16);
  v128.store(w, fromSigned, 32);
  v128.store(w, fromSigned, 48);
  v128.store(w, scale, 64);
  v128.store(w, scale, 80);
}
