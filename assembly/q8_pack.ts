// Quantised rows as tiles of whole dot products read them (q8_tiles.ts): of a tile's rows a word of
// each in turn, one stream instead of six. Rows as they are were re-read past weights from memory at
// the cost of half the rate: hardware follows one stream of weights and one of rows, not seven.
import { HEADER_BYTES, qRows, steps } from "./q8_job";
import { PACKED_ROWS } from "./q8_tiles";
import { row } from "./simd";

/** Packs `rows` of the job's rows from byte offset `at` on: of every byte what `mask` has of it, shifted right by `shift`. */
export function packRows(rows: i32, at: usize, to: usize, shift: i32, mask: i32): void {
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
