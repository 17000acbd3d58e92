// Quantised rows as tiles of whole dot products read them (q8_tiles.ts): of a tile's rows a word of
// each in turn, one stream instead of six. Rows as they are were re-read past weights from memory at
// the cost of half the rate: hardware follows one stream of weights and one of rows, not seven.
import { HEADER_BYTES, headers, lineBytes, lines, qRows, steps } from "./q8_job";
import { PACKED_ROWS } from "./q8_tiles";
import { row } from "./simd";

/** Packs `rows` of the job's rows from byte offset `at` on, line after line. */
export function packRows(rows: i32, at: usize, to: usize): void {
  const bytes = <usize>steps << 2;
  for (; rows > 0; rows -= PACKED_ROWS, at += PACKED_ROWS << 2, to += PACKED_ROWS * bytes) {
    const height = min(rows, PACKED_ROWS);
    // The last of an odd number goes first, with a word behind its own that the others write again.
    for (let r = (height - 1) & ~1; r >= 0; r -= 2) {
      const first = at + (<usize>r << 2), second = first + (r + 1 < height ? 4 : 0);
      packPair(first, second, to + (<usize>r << 2), <usize>height << 2);
    }
  }
}

/** Words of two rows side by side, every `stride` bytes. */
function packPair(first: usize, second: usize, to: usize, stride: usize): void {
  const bytes = lineBytes ? lineBytes : <usize>steps << 2;
  let p = row(qRows, first) + HEADER_BYTES, q = row(qRows, second) + HEADER_BYTES;
  let pNext: usize = 0, qNext: usize = 0;
  if (lines > 1) {
    pNext = lineStride(first) - bytes;
    qNext = lineStride(second) - bytes;
  }
  const twice = stride + stride, thrice = twice + stride;
  let left = bytes;
  for (let line = lines; ; ) {
    for (; left >= 16; left -= 16, p += 16, q += 16) {
      const x = v128.load(p), y = v128.load(q);
      const low = v128.shuffle<u32>(x, y, 0, 4, 1, 5), high = v128.shuffle<u32>(x, y, 2, 6, 3, 7);
      v128.store_lane<u64>(to, low, 0);
      v128.store_lane<u64>(to + stride, low, 1);
      v128.store_lane<u64>(to + twice, high, 0);
      v128.store_lane<u64>(to + thrice, high, 1);
      to += twice + twice;
    }
    for (; left >= 4; left -= 4, p += 4, q += 4, to += stride) {
      store<u32>(to, load<u32>(p));
      store<u32>(to, load<u32>(q), 4);
    }
    // A word of the line's last bytes and the next one's first: lines have four bytes at least.
    const begun = <u32>left << 3;
    const x = load<u32>(p + left - 4) >> (32 - begun), y = load<u32>(q + left - 4) >> (32 - begun);
    if (--line == 0) {
      if (begun) {
        store<u32>(to, x);
        store<u32>(to, y, 4);
      }
      return;
    }
    p += left + pNext;
    q += left + qNext;
    left = bytes;
    if (begun) {
      store<u32>(to, x | load<u32>(p) << begun);
      store<u32>(to, y | load<u32>(q) << begun, 4);
      to += stride;
      const taken = <usize>(32 - begun) >> 3;
      p += taken;
      q += taken;
      left -= taken;
    }
  }
}

/** From one line of a row to its next. */
// @ts-ignore: decorator
@inline function lineStride(at: usize): usize {
  return <usize>load<u32>(headers + at * (HEADER_BYTES >> 2), 12);
}

/** Packs rows as packRows() does: of every byte what `mask` has of it, shifted right by `shift`. */
export function packParts(rows: i32, at: usize, to: usize, shift: i32, mask: i32): void {
  const bytes = <usize>steps << 2;
  for (; rows > 0; rows -= PACKED_ROWS, at += PACKED_ROWS << 2, to += PACKED_ROWS * bytes) {
    const height = min(rows, PACKED_ROWS);
    // The last of an odd number goes first, with a word behind its own that the others write again.
    for (let r = (height - 1) & ~1; r >= 0; r -= 2) {
      const p = row(qRows, at + (<usize>r << 2));
      const q = r + 1 < height ? row(qRows, at + (<usize>r << 2) + 4) : p;
      interleave(
        steps, p + HEADER_BYTES, q + HEADER_BYTES, to + (<usize>r << 2), <usize>height << 2, shift, mask, 0
      );
    }
  }
}

/** Copies headers of the job's rows from byte offset `at` on: tiles that end do not reach for each row. */
export function packHeaders(rows: i32, at: usize, to: usize): void {
  for (; rows > 0; --rows, at += 4, to += HEADER_BYTES) v128.store(to, v128.load(row(qRows, at)));
}

/** Words of p and q side by side, every `stride` bytes: what `mask` has of them shifted right, but for what `flip` turns. */
export function interleave(
  words: i32, p: usize, q: usize, to: usize, stride: usize, shift: i32, mask: i32, flip: i32
): void {
  const bits = v128.splat<i32>(mask), turned = v128.splat<i32>(flip);
  for (; words >= 4; words -= 4, p += 16, q += 16) {
    const x = v128.xor(v128.and(i32x4.shr_u(v128.load(p), shift), bits), turned);
    const y = v128.xor(v128.and(i32x4.shr_u(v128.load(q), shift), bits), turned);
    const first = v128.shuffle<u32>(x, y, 0, 4, 1, 5), second = v128.shuffle<u32>(x, y, 2, 6, 3, 7);
    v128.store_lane<u64>(to, first, 0);
    v128.store_lane<u64>(to + stride, first, 1);
    to += stride + stride;
    v128.store_lane<u64>(to, second, 0);
    v128.store_lane<u64>(to + stride, second, 1);
    to += stride + stride;
  }
  for (; words > 0; --words, p += 4, q += 4, to += stride) {
    store<u32>(to, load<u32>(p) >> shift & mask ^ flip);
    store<u32>(to, load<u32>(q) >> shift & mask ^ flip, 4);
  }
}
