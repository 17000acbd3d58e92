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
  for (let col = 0; col < n; col += 8, w += q8PanelBytes(k)) {
    memory.fill(w, 0, PANEL_HEADER);
    const columns = min(8, n - col);
    if (transposed) packColumns(k, qRows + (<usize>col << 2), columns, w);
    else packRows(k, qRows, col, columns, w);
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

/** Up to eight columns of k quantised rows. */
function packRows(k: i32, qRows: usize, col: i32, columns: i32, w: usize): void {
  const flip = v128.splat<i32>(FLIP);
  let lows = v128.splat<i32>(0), highs = lows;
  const from = 16 + <usize>col;
  let to = w + PANEL_HEADER;
  for (let i = 0; i < k; i += 4, qRows += 16, to += 32) {
    const none = v128.splat<i32>(0);
    const a = eight(row(qRows, 0) + from, columns);
    const b = i + 1 < k ? eight(row(qRows, 4) + from, columns) : none;
    const c = i + 2 < k ? eight(row(qRows, 8) + from, columns) : none;
    const d = i + 3 < k ? eight(row(qRows, 12) + from, columns) : none;
    const ab = v128.shuffle<u8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const cd = v128.shuffle<u8>(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const low = v128.shuffle<u16>(ab, cd, 0, 8, 1, 9, 2, 10, 3, 11);
    const high = v128.shuffle<u16>(ab, cd, 4, 12, 5, 13, 6, 14, 7, 15);
    lows = i32x4.add(lows, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(low)));
    highs = i32x4.add(highs, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(high)));
    v128.store(to, v128.xor(low, flip));
    v128.store(to, v128.xor(high, flip), 16);
  }
  v128.store(w, lows);
  v128.store(w, highs, 16);
  const header = row(qRows - (<usize>((k + 3) >> 2) << 4), 0);
  for (let lane: usize = 0; lane < 8; ++lane) describe(k, header, load<i32>(w + (lane << 2)), lane, w);
}
