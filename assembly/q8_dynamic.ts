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
 * come to half as often. The second lies `apart` from w; a lone panel is written over it. Sums wait in the panels'
 * headers, and in the first one's behind its sums four rows of what is no whole vector.
 */
function packRows(k: i32, qRows: usize, col: i32, columns: i32, w: usize, apart: usize): void {
  const from = 16 + <usize>col;
  const header = row(qRows, 0);
  let to = w + PANEL_HEADER;
  const whole = columns >= 16 ? k >> 2 : 0;
  packSteps(whole, qRows, from, to, w, apart);
  for (let i = whole << 2; i < k; i += 4) {
    for (let r: usize = 0; r < 16; r += 4) {
      const piece = w + 64 + (r << 2);
      store<u32>(w + 32 + r, <u32>piece);
      v128.store(piece, i + <i32>(r >> 2) < k ? pieces(row(qRows, (<usize>i << 2) + r) + from, columns) : v128.splat<i32>(0));
    }
    packSteps(1, w + 32, 0, w + PANEL_HEADER + (<usize>i << 3), w, apart);
  }
  memory.fill(w + 96, 0, PANEL_HEADER - 96);
  describeEight(k, header, w);
  if (apart) describeEight(k, header, w + apart);
}

/** Four rows at a time, of sixteen columns, whose sums, of signed bytes, grow. */
function packSteps(steps: i32, qRows: usize, from: usize, to: usize, w: usize, apart: usize): void {
  const flip = v128.splat<i32>(FLIP);
  let sums0 = v128.load(w), sums1 = v128.load(w, 16);
  let sums2 = v128.load(w + apart), sums3 = v128.load(w + apart, 16);
  for (; steps > 0; --steps, qRows += 16, to += 32) {
    const a = v128.load(row(qRows, 0) + from), b = v128.load(row(qRows, 4) + from);
    const c = v128.load(row(qRows, 8) + from), d = v128.load(row(qRows, 12) + from);
    let ab = v128.xor(v128.shuffle<u8>(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), flip);
    let cd = v128.xor(v128.shuffle<u8>(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), flip);
    let low = v128.shuffle<u16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    let high = v128.shuffle<u16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
    sums2 = addBytes(sums2, low);
    sums3 = addBytes(sums3, high);
    v128.store(to + apart, low);
    v128.store(to + apart, high, 16);
    ab = v128.xor(v128.shuffle<u8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), flip);
    cd = v128.xor(v128.shuffle<u8>(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), flip);
    low = v128.shuffle<u16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    high = v128.shuffle<u16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
    sums0 = addBytes(sums0, low);
    sums1 = addBytes(sums1, high);
    v128.store(to, low);
    v128.store(to, high, 16);
  }
  v128.store(w + apart, sums2);
  v128.store(w + apart, sums3, 16);
  v128.store(w, sums0);
  v128.store(w, sums1, 16);
}

/** Adds sums of each four signed bytes; a dot product with ones is exact in every engine. */
// @ts-ignore: decorator
@inline function addBytes(sums: v128, x: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i32x4.relaxed_dot_i8x16_i7x16_add_s(x, v128.splat<i8>(1), sums);
  return i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(i16x8.extadd_pairwise_i8x16_s(x)));
}

/** The first `count` bytes at p, 16 at most; never reads past them. */
function pieces(p: usize, count: i32): v128 {
  const first = eight(p, count);
  return count > 8 ? v128.shuffle<u64>(first, eight(p + 8, count - 8), 0, 2) : first;
}

/** Eight columns' constants, of one scale and zero point; their sums of signed bytes lie there. */
function describeEight(k: i32, header: usize, w: usize): void {
  const zero = v128.load32_splat(header, 4);
  const fromSigned = i32x4.sub(zero, v128.splat<i32>(128));
  // What padding adds is taken back.
  const shift = i32x4.sub(i32x4.mul(zero, v128.splat<i32>(k)), v128.splat<i32>(((k + 3) & ~3) << 7));
  const scale = v128.load32_splat(header);
  v128.store(w, i32x4.sub(v128.load(w), shift));
  v128.store(w, i32x4.sub(v128.load(w, 16), shift), 16);
  v128.store(w, fromSigned, 32);
  v128.store(w, fromSigned, 48);
  v128.store(w, scale, 64);
  v128.store(w, scale, 80);
}
