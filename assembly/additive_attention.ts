// Additive attention (Bahdanau, Cho, Bengio 2015) over ragged rows: every row has its own cache and length.
import { checkCaches, mix } from "./attention";
import { checkArray, checkLeast, checkRows } from "./checks";
import { constant, one } from "./constants";
import { tanhWith } from "./math";
import { mac, row } from "./simd";
import { softmaxRow } from "./softmax";

/**
 * score_t = sum over i of v_i tanh(q_i + k_ti), out = sum over t of softmax(score)_t value_t. Row i of qRows
 * has keyWidth floats, of outRows valueWidth; it sees positions 0..lengths[i]-1 of its caches (0 gives
 * zeros), laid out as attention_append_f32 writes them. v: keyWidth floats. Sums: over keyWidth ascending,
 * softmax as softmax_rows_f32, over positions ascending. scratch: a sixteenth of
 * attention_scratch_bytes(the greatest length, rounded up to a multiple of 8), 4-byte aligned.
 */
export function additive_attention_f32(
  m: i32, keyWidth: i32, valueWidth: i32, qRows: usize, v: usize, kCaches: usize, vCaches: usize, lengths: usize,
  outRows: usize, scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(keyWidth, 1);
    checkLeast(valueWidth, 1);
    checkCaches(m, keyWidth, valueWidth, kCaches, vCaches, lengths);
    checkRows(qRows, m, <usize>keyWidth << 2);
    checkRows(outRows, m, <usize>valueWidth << 2);
    checkArray(v, <usize>keyWidth << 2);
    for (let i = 0; i < m; ++i) {
      checkArray(scratch, <usize>((load<i32>(lengths + (<usize>i << 2)) + 7) & -8) << 2);
    }
  }
  const panelBytes = <usize>keyWidth << 5;
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const length = load<i32>(lengths + at);
    let keys = row(kCaches, at);
    for (let p = 0; p < length; p += 8, keys += panelBytes) {
      scores_1x8(keyWidth, row(qRows, at), v, keys, scratch + (<usize>p << 2));
    }
    if (length > 0) softmaxRow(length, scratch, scratch);
    mix(valueWidth, 0, 0, length, scratch, row(vCaches, at), <usize>valueWidth << 2, row(outRows, at));
  }
}

/** Scores of one panel of keys. */
function scores_1x8(keyWidth: i32, q: usize, v: usize, k: usize, scores: usize): void {
  const low = constant(13), high = constant(12);
  const a3 = constant(17), a2 = constant(16), a1 = constant(15), a0 = constant(14);
  const d3 = constant(21), d2 = constant(20), d1 = constant(19), d0 = constant(18);
  const unit = one();
  let lo = v128.splat<f32>(0), hi = lo;
  for (const end = q + (<usize>keyWidth << 2); q < end; q += 4, v += 4, k += 32) {
    const x = v128.load_splat<f32>(q);
    const w = v128.load_splat<f32>(v);
    const first = f32x4.add(x, v128.load(k)), second = f32x4.add(x, v128.load(k, 16));
    lo = mac(lo, w, tanhWith(first, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit));
    hi = mac(hi, w, tanhWith(second, low, high, a3, a2, a1, a0, d3, d2, d1, d0, unit));
  }
  v128.store(scores, lo);
  v128.store(scores, hi, 16);
}
