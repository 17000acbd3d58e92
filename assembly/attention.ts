// Attention over ragged rows: every row has its own key-value cache, kept in its slot,
// and its own length. A row's result is the same whether it comes alone, with other
// requests, or with its neighbours of the same request (prefill), which share the loads.
//
// Cache of one request, keyWidth and valueWidth floats a position:
//   keys    panels of 8 positions, [position / 8][keyWidth][position % 8]
//   values  [position][valueWidth]
// Neither depends on the room a cache has, so that every request's is as large as it needs. Positions of
// the last panel that are not filled are never read into a sum.
import { checkArray, checkLeast, checkRows, checkSpan, checkTable } from "./checks";
import { tanh4 } from "./math";
import { get, mac, put, row } from "./simd";
import { softmaxRow } from "./softmax";
import { touch } from "./touch";

/** Query rows of one cache that go together. */
const TILE_ROWS = 4;
/** Vectors of scores that scratch memory holds: of TILE_ROWS rows, or of as many heads of one row. */
const SCORES = 16;
/** Keys, or values, that the heads of a row pass in turn: a quarter of the second-level cache. */
const BLOCK_BYTES: usize = 256 << 10;
/** Keys above this size, and as many values, are taken to come from memory rather than from cache. */
const STREAM_BYTES: usize = 2 << 20;

/** Bytes of scratch memory attention over at most `capacity` positions, a multiple of 8, needs. */
export function attention_scratch_bytes(capacity: i32): usize {
  return <usize>(SCORES * capacity) << 2;
}

/**
 * Writes keys and values of m positions into their caches: row i of kRows (keyWidth floats) and of vRows
 * (valueWidth floats) to position positions[i] (i32) of the caches kCaches[i] and vCaches[i].
 */
export function attention_append_f32(
  m: i32, keyWidth: i32, valueWidth: i32, kRows: usize, vRows: usize, positions: usize, kCaches: usize,
  vCaches: usize
): void {
  const keyBytes = <usize>keyWidth << 2;
  const valueBytes = <usize>valueWidth << 2;
  if (!ASC_NO_ASSERT) {
    checkLeast(keyWidth, 1);
    checkLeast(valueWidth, 1);
    checkRows(kRows, m, keyBytes);
    checkRows(vRows, m, valueBytes);
    checkArray(positions, <usize>m << 2);
    checkTable(kCaches, m);
    checkTable(vCaches, m);
    for (let i = 0; i < m; ++i) {
      const at = <usize>i << 2;
      const position = load<i32>(positions + at);
      assert(position >= 0, "position is negative");
      checkSpan(row(kCaches, at), <usize>((position >> 3) + 1) * (keyBytes << 3));
      checkSpan(row(vCaches, at), <usize>(position + 1) * valueBytes);
    }
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const position = load<i32>(positions + at);
    const key = row(kRows, at);
    const keys = row(kCaches, at) + <usize>(position >> 3) * (keyBytes << 3) + (<usize>(position & 7) << 2);
    memory.copy(row(vCaches, at) + <usize>position * valueBytes, row(vRows, at), valueBytes);
    for (let i: usize = 0; i < keyBytes; i += 4) store<f32>(keys + (i << 3), load<f32>(key + i));
  }
}

/**
 * out = softmax(scale * q K^T) V for every head. Row i sees positions 0..lengths[i]-1 of
 * its cache (a causal mask is a length that grows from row to row; 0 gives zeros) and has
 * heads * headSize floats; keys and values have kvHeads * headSize, and head h reads key-value head
 * h / (heads / kvHeads). No length is above capacity, a multiple of 8. Consecutive rows with the same
 * caches share their loads. Sums: over headSize ascending, softmax as
 * softmax_rows_f32, over positions ascending. Rows of outRows may be rows of qRows.
 * cap, unless 0: scores are cap * tanh(scale * q K^T). bias, unless 0: what is added to scores, by distance:
 * [heads][capacity], the last of a head's to the last position that a row sees, and 3 floats behind that are read and
 * not used.
 * scratch: attention_scratch_bytes(capacity) bytes, 4-byte aligned.
 */
export function attention_f32(
  m: i32, heads: i32, kvHeads: i32, headSize: i32, capacity: i32, scale: f32, cap: f32, qRows: usize,
  kCaches: usize, vCaches: usize, lengths: usize, bias: usize, outRows: usize, scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(kvHeads, 1);
    checkLeast(headSize, 1);
    checkLeast(heads, 1);
    assert((capacity & 7) == 0, "capacity is not a multiple of 8");
    checkCaches(m, kvHeads * headSize, kvHeads * headSize, kCaches, vCaches, lengths);
    assert(heads % kvHeads == 0, "key-value heads do not divide the heads");
    checkRows(qRows, m, <u64>heads * headSize << 2);
    checkRows(outRows, m, <u64>heads * headSize << 2);
    for (let i = 0; i < m; ++i) {
      assert(load<u32>(lengths + (<usize>i << 2)) <= <u32>capacity, "length is beyond the capacity");
    }
    if (bias) checkArray(bias, (<u64>heads * capacity + 3) << 2);
    checkArray(scratch, <u64>SCORES * <u32>capacity << 2);
  }
  const stride = <usize>capacity << 2;
  const rowBytes = <usize>(kvHeads * headSize) << 2;
  const share = heads / kvHeads;
  let positions = 0;
  for (let i = 0; i < m; ++i) positions += load<i32>(lengths + (<usize>i << 2));
  const streaming = <usize>positions * rowBytes > STREAM_BYTES;
  for (let i = 0; i < m; ) {
    const at = <usize>i << 2;
    const keys = row(kCaches, at);
    const values = row(vCaches, at);
    let rows = 1;
    while (rows < TILE_ROWS && i + rows < m && row(kCaches, at + (<usize>rows << 2)) == keys &&
      row(vCaches, at + (<usize>rows << 2)) == values) ++rows;
    if (rows == TILE_ROWS) {
      for (let head = 0; head < heads; ++head) {
        const offset = <usize>(head * headSize) << 2;
        const part = <usize>(head / share * headSize) << 2;
        four(
          headSize, scale, qRows + at, offset, keys + (part << 3), values + part, rowBytes, lengths + at,
          outRows + at, scratch, stride, cap, bias, head
        );
      }
    } else {
      for (let r = 0; r < rows; ++r) {
        const entry = at + (<usize>r << 2);
        one(
          heads, share, headSize, scale, row(qRows, entry), keys, values, rowBytes,
          load<i32>(lengths + entry), row(outRows, entry), scratch, stride, streaming, cap, bias
        );
      }
    }
    i += rows;
  }
}

/** Traps unless m caches hold as many positions as are read of them. */
export function checkCaches(
  m: i32, keyWidth: i32, valueWidth: i32, kCaches: usize, vCaches: usize, lengths: usize
): void {
  checkArray(lengths, <usize>m << 2);
  checkTable(kCaches, m);
  checkTable(vCaches, m);
  for (let i = 0; i < m; ++i) {
    const at = <usize>i << 2;
    const length = load<i32>(lengths + at);
    assert(length >= 0, "length is negative");
    checkSpan(row(kCaches, at), <usize>((length + 7) >> 3) * (<usize>keyWidth << 5));
    checkSpan(row(vCaches, at), <usize>length * (<usize>valueWidth << 2));
  }
}

/** One query row: as many heads as there are scores pass a block of the cache before the next block. */
function one(
  heads: i32, share: i32, headSize: i32, scale: f32, q: usize, keys: usize, values: usize, rowBytes: usize,
  length: i32, out: usize, scratch: usize, stride: usize, streaming: bool, cap: f32, bias: usize
): void {
  const panelBytes = rowBytes << 3;
  const headBytes = <usize>headSize << 2;
  const blockPositions = max(32, <i32>(BLOCK_BYTES / rowBytes) & -32);
  const groups = (heads + SCORES - 1) / SCORES;
  const group = (heads + groups - 1) / groups;
  for (let first = 0; first < heads; first += group) {
    const last = min(first + group, heads);
    for (let from = 0; from < length; from += blockPositions) {
      const to = min(from + blockPositions, length);
      const block = keys + <usize>(from >> 3) * panelBytes;
      if (streaming) touch(block, <usize>((to - from + 7) >> 3) * panelBytes);
      for (let head = first; head < last; ++head) {
        let scores = scratch + <usize>(head - first) * stride + (<usize>from << 2);
        let panel = block + (<usize>(head / share) * headBytes << 3);
        const query = q + <usize>head * headBytes;
        let p = from;
        for (; p + 32 <= to; p += 32, scores += 128) {
          dots_1x32(headSize, scale, query, panel, panelBytes, scores);
          panel += 4 * panelBytes;
        }
        for (; p < to; p += 8, scores += 32) {
          dots_1x8(headSize, scale, query, panel, scores);
          panel += panelBytes;
        }
      }
    }
    for (let head = first, scores = scratch; head < last; ++head, scores += stride) {
      shares(length, scores, stride, cap, bias, head);
    }
    for (let from = 0; from == 0 || from < length; from += blockPositions) {
      const to = min(from + blockPositions, length);
      if (streaming) touch(values + <usize>from * rowBytes, <usize>(to - from) * rowBytes);
      for (let head = first; head < last; ++head) {
        const column = <usize>head * headBytes;
        mix(
          headSize, from > 0 ? headSize : 0, from, to, scratch + <usize>(head - first) * stride,
          values + <usize>(head / share) * headBytes, rowBytes, out + column
        );
      }
    }
  }
}

/** Four query rows of one cache, one head. */
function four(
  headSize: i32, scale: f32, qRows: usize, offset: usize, keys: usize, values: usize, rowBytes: usize,
  lengths: usize, outRows: usize, scores: usize, stride: usize, cap: f32, bias: usize, head: i32
): void {
  const l0 = load<i32>(lengths), l1 = load<i32>(lengths, 4), l2 = load<i32>(lengths, 8), l3 = load<i32>(lengths, 12);
  const longest = max(max(l0, l1), max(l2, l3));
  const shortest = min(min(l0, l1), min(l2, l3));
  const q0 = <usize>load<u32>(qRows) + offset, q1 = <usize>load<u32>(qRows, 4) + offset;
  const q2 = <usize>load<u32>(qRows, 8) + offset, q3 = <usize>load<u32>(qRows, 12) + offset;
  const s1 = scores + stride, s2 = s1 + stride, s3 = s2 + stride;
  const panelBytes = rowBytes << 3;
  for (let p = 0; p < longest; p += 8) {
    dots_4x8(headSize, scale, q0, q1, q2, q3, keys, scores + (<usize>p << 2), stride);
    keys += panelBytes;
  }
  shares(l0, scores, stride, cap, bias, head);
  shares(l1, s1, stride, cap, bias, head);
  shares(l2, s2, stride, cap, bias, head);
  shares(l3, s3, stride, cap, bias, head);
  const o0 = <usize>load<u32>(outRows) + offset, o1 = <usize>load<u32>(outRows, 4) + offset;
  const o2 = <usize>load<u32>(outRows, 8) + offset, o3 = <usize>load<u32>(outRows, 12) + offset;
  let col: usize = 0;
  for (let left = headSize; left >= 8; left -= 8, col += 32) {
    mix_4x8(shortest, scores, stride, values + col, rowBytes, o0 + col, o1 + col, o2 + col, o3 + col);
  }
  // What the longer rows see beyond the shortest is added row by row, in the same order.
  const whole = <i32>(col >> 2);
  mix(headSize, whole, shortest, l0, scores, values, rowBytes, o0);
  mix(headSize, whole, shortest, l1, s1, values, rowBytes, o1);
  mix(headSize, whole, shortest, l2, s2, values, rowBytes, o2);
  mix(headSize, whole, shortest, l3, s3, values, rowBytes, o3);
}

/** Softmax of a row's scores for one head, capped and with the bias that is the head's. */
function shares(length: i32, scores: usize, stride: usize, cap: f32, bias: usize, head: i32): void {
  if (!length) return;
  const bytes = <usize>length << 2;
  const first = bias + <usize>(head + 1) * stride - bytes;
  if (cap != 0 || bias) {
    for (let at: usize = 0; at < bytes; at += 16) {
      let x = v128.load(scores + at);
      if (cap != 0) x = f32x4.mul(tanh4(x), v128.splat<f32>(cap));
      if (bias) x = f32x4.add(x, v128.load(first + at));
      v128.store(scores + at, x);
    }
  }
  softmaxRow(length, scores, scores);
}

/** scores[0..7] = scale * q K^T for one panel of keys. */
function dots_1x8(headSize: i32, scale: f32, q: usize, k: usize, scores: usize): void {
  let lo = v128.splat<f32>(0), hi = lo;
  for (const end = q + (<usize>headSize << 2); q < end; q += 4, k += 32) {
    const x = v128.load_splat<f32>(q);
    lo = mac(lo, x, v128.load(k));
    hi = mac(hi, x, v128.load(k, 16));
  }
  const s = v128.splat<f32>(scale);
  v128.store(scores, f32x4.mul(lo, s));
  v128.store(scores, f32x4.mul(hi, s), 16);
}

function dots_1x32(headSize: i32, scale: f32, q: usize, k: usize, panelBytes: usize, scores: usize): void {
  let lo0 = v128.splat<f32>(0), hi0 = lo0, lo1 = lo0, hi1 = lo0, lo2 = lo0, hi2 = lo0, lo3 = lo0, hi3 = lo0;
  let k1 = k + panelBytes, k2 = k1 + panelBytes, k3 = k2 + panelBytes;
  for (const end = q + (<usize>headSize << 2); q < end; q += 4) {
    const x = v128.load_splat<f32>(q);
    lo0 = mac(lo0, x, v128.load(k)); hi0 = mac(hi0, x, v128.load(k, 16));
    lo1 = mac(lo1, x, v128.load(k1)); hi1 = mac(hi1, x, v128.load(k1, 16));
    lo2 = mac(lo2, x, v128.load(k2)); hi2 = mac(hi2, x, v128.load(k2, 16));
    lo3 = mac(lo3, x, v128.load(k3)); hi3 = mac(hi3, x, v128.load(k3, 16));
    k += 32; k1 += 32; k2 += 32; k3 += 32;
  }
  const s = v128.splat<f32>(scale);
  v128.store(scores, f32x4.mul(lo0, s)); v128.store(scores, f32x4.mul(hi0, s), 16);
  v128.store(scores, f32x4.mul(lo1, s), 32); v128.store(scores, f32x4.mul(hi1, s), 48);
  v128.store(scores, f32x4.mul(lo2, s), 64); v128.store(scores, f32x4.mul(hi2, s), 80);
  v128.store(scores, f32x4.mul(lo3, s), 96); v128.store(scores, f32x4.mul(hi3, s), 112);
}

function dots_4x8(
  headSize: i32, scale: f32, q0: usize, q1: usize, q2: usize, q3: usize, k: usize, scores: usize, stride: usize
): void {
  let lo0 = v128.splat<f32>(0), hi0 = lo0, lo1 = lo0, hi1 = lo0, lo2 = lo0, hi2 = lo0, lo3 = lo0, hi3 = lo0;
  for (const end = q0 + (<usize>headSize << 2); q0 < end; ) {
    const b = v128.load(k), d = v128.load(k, 16);
    let x = v128.load_splat<f32>(q0); lo0 = mac(lo0, x, b); hi0 = mac(hi0, x, d);
    x = v128.load_splat<f32>(q1); lo1 = mac(lo1, x, b); hi1 = mac(hi1, x, d);
    x = v128.load_splat<f32>(q2); lo2 = mac(lo2, x, b); hi2 = mac(hi2, x, d);
    x = v128.load_splat<f32>(q3); lo3 = mac(lo3, x, b); hi3 = mac(hi3, x, d);
    q0 += 4; q1 += 4; q2 += 4; q3 += 4; k += 32;
  }
  const s = v128.splat<f32>(scale);
  v128.store(scores, f32x4.mul(lo0, s)); v128.store(scores, f32x4.mul(hi0, s), 16);
  scores += stride;
  v128.store(scores, f32x4.mul(lo1, s)); v128.store(scores, f32x4.mul(hi1, s), 16);
  scores += stride;
  v128.store(scores, f32x4.mul(lo2, s)); v128.store(scores, f32x4.mul(hi2, s), 16);
  scores += stride;
  v128.store(scores, f32x4.mul(lo3, s)); v128.store(scores, f32x4.mul(hi3, s), 16);
}

/** Eight columns of the values, weighted by four rows of scores: positions 0..length-1. */
function mix_4x8(
  length: i32, p0: usize, stride: usize, v: usize, rowBytes: usize, o0: usize, o1: usize, o2: usize, o3: usize
): void {
  let lo0 = v128.splat<f32>(0), hi0 = lo0, lo1 = lo0, hi1 = lo0, lo2 = lo0, hi2 = lo0, lo3 = lo0, hi3 = lo0;
  let p1 = p0 + stride, p2 = p1 + stride, p3 = p2 + stride;
  for (const end = p0 + (<usize>length << 2); p0 < end; ) {
    const b = v128.load(v), d = v128.load(v, 16);
    let x = v128.load_splat<f32>(p0); lo0 = mac(lo0, x, b); hi0 = mac(hi0, x, d);
    x = v128.load_splat<f32>(p1); lo1 = mac(lo1, x, b); hi1 = mac(hi1, x, d);
    x = v128.load_splat<f32>(p2); lo2 = mac(lo2, x, b); hi2 = mac(hi2, x, d);
    x = v128.load_splat<f32>(p3); lo3 = mac(lo3, x, b); hi3 = mac(hi3, x, d);
    p0 += 4; p1 += 4; p2 += 4; p3 += 4; v += rowBytes;
  }
  v128.store(o0, lo0); v128.store(o0, hi0, 16);
  v128.store(o1, lo1); v128.store(o1, hi1, 16);
  v128.store(o2, lo2); v128.store(o2, hi2, 16);
  v128.store(o3, lo3); v128.store(o3, hi3, 16);
}

/**
 * The weighted sum of values for one row of `headSize` columns, a position every `rowBytes`. Columns below `whole` already hold the sum over
 * positions below `from` and go on from it; the others start from 0 at position 0.
 */
export function mix(
  headSize: i32, whole: i32, from: i32, length: i32, p: usize, values: usize, rowBytes: usize, out: usize
): void {
  let col = 0;
  if (from == length) col = whole;
  for (; col < headSize; ) {
    const left = headSize - col;
    const goesOn = col < whole;
    const first = goesOn ? from : 0;
    const end = p + (<usize>length << 2);
    let a = p + (<usize>first << 2);
    let v = values + <usize>first * rowBytes + (<usize>col << 2);
    const o = out + (<usize>col << 2);
    if (left >= 32 && (!goesOn || col + 32 <= whole)) {
      mix_1x32(a, end, v, rowBytes, o, goesOn);
      col += 32;
    } else if (left >= 8) {
      mix_1x8(a, end, v, rowBytes, o, goesOn);
      col += 8;
    } else {
      let lo = v128.splat<f32>(0), hi = lo;
      if (goesOn) {
        lo = get(o, left);
        hi = get(o + 16, left - 4);
      }
      for (; a < end; a += 4, v += rowBytes) {
        const x = v128.load_splat<f32>(a);
        lo = mac(lo, x, get(v, left));
        hi = mac(hi, x, get(v + 16, left - 4));
      }
      put(o, lo, left);
      put(o + 16, hi, left - 4);
      col += 8;
    }
  }
}

function mix_1x8(a: usize, end: usize, v: usize, rowBytes: usize, o: usize, goesOn: bool): void {
  let lo = v128.splat<f32>(0), hi = lo;
  if (goesOn) {
    lo = v128.load(o);
    hi = v128.load(o, 16);
  }
  for (; a < end; a += 4, v += rowBytes) {
    const x = v128.load_splat<f32>(a);
    lo = mac(lo, x, v128.load(v));
    hi = mac(hi, x, v128.load(v, 16));
  }
  v128.store(o, lo);
  v128.store(o, hi, 16);
}

function mix_1x32(a: usize, end: usize, v: usize, rowBytes: usize, o: usize, goesOn: bool): void {
  let s0 = v128.splat<f32>(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  if (goesOn) {
    s0 = v128.load(o); s1 = v128.load(o, 16); s2 = v128.load(o, 32); s3 = v128.load(o, 48);
    s4 = v128.load(o, 64); s5 = v128.load(o, 80); s6 = v128.load(o, 96); s7 = v128.load(o, 112);
  }
  for (; a < end; a += 4, v += rowBytes) {
    const x = v128.load_splat<f32>(a);
    s0 = mac(s0, x, v128.load(v)); s1 = mac(s1, x, v128.load(v, 16));
    s2 = mac(s2, x, v128.load(v, 32)); s3 = mac(s3, x, v128.load(v, 48));
    s4 = mac(s4, x, v128.load(v, 64)); s5 = mac(s5, x, v128.load(v, 80));
    s6 = mac(s6, x, v128.load(v, 96)); s7 = mac(s7, x, v128.load(v, 112));
  }
  v128.store(o, s0); v128.store(o, s1, 16); v128.store(o, s2, 32); v128.store(o, s3, 48);
  v128.store(o, s4, 64); v128.store(o, s5, 80); v128.store(o, s6, 96); v128.store(o, s7, 112);
}
