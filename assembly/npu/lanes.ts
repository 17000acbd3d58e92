// One row of PEs, one cycle. Words move one column to the right, sums (or the second
// operand) one row down; all PEs of the row work at once, 16 at a time, right to left
// so that a register is read before it is overwritten.
//
// f32: every sum is rounded after the product and after the addition, in all builds.
// i8: products are exact in 16 bits, sums wrap in 32 bits.
import { FIRST, LAST, MAPPED } from "./state";

// @ts-ignore: decorator
@inline function anyTag(tags: v128, bit: u8): v128 {
  return i8x16.ne(v128.and(tags, i8x16.splat(bit)), i8x16.splat(0));
}

/** 4-byte lane mask of group q (columns 4q to 4q + 3) of a byte mask. */
// @ts-ignore: decorator
@inline export function laneMask(mask: v128, q: i32): v128 {
  const half = q < 2 ? i16x8.extend_low_i8x16_s(mask) : i16x8.extend_high_i8x16_s(mask);
  return (q & 1) == 0 ? i32x4.extend_low_i16x8_s(half) : i32x4.extend_high_i16x8_s(half);
}

/** Where `mask` is set, copies `from` to `to`, elements of 4 bytes. */
// @ts-ignore: decorator
@inline function copyMasked4(to: usize, from: usize, mask: v128, q: i32): void {
  const at = <usize>(q << 4);
  v128.store(to + at, v128.bitselect(v128.load(from + at), v128.load(to + at), laneMask(mask, q)));
}

/** Copies 16 elements of T where the byte mask is set. */
export function copyMasked<T>(to: usize, from: usize, mask: v128): void {
  if (sizeof<T>() == 1) {
    v128.store(to, v128.bitselect(v128.load(from), v128.load(to), mask));
  } else {
    copyMasked4(to, from, mask, 0);
    copyMasked4(to, from, mask, 1);
    copyMasked4(to, from, mask, 2);
    copyMasked4(to, from, mask, 3);
  }
}

/** sums[q] of 16 columns: above + moved * held, for four of them. f32. */
// @ts-ignore: decorator
@inline function macF32(moving: usize, held: usize, above: usize, sums: usize, q: i32): void {
  const at = <usize>(q << 4);
  const moved = v128.load(moving + at - 4);
  v128.store(moving + at, moved);
  v128.store(sums + at, f32x4.add(v128.load(above + at), f32x4.mul(moved, v128.load(held + at))));
}

// @ts-ignore: decorator
@inline function addI32(sums: usize, above: usize, product: v128): void {
  v128.store(sums, i32x4.add(v128.load(above), product));
}

/** The same for 16 columns of int8 words and int32 sums. */
// @ts-ignore: decorator
@inline function macI8(moving: usize, held: v128, above: usize, sums: usize): void {
  const moved = v128.load(moving - 1);
  v128.store(moving, moved);
  const low = i16x8.extmul_low_i8x16_s(moved, held);
  const high = i16x8.extmul_high_i8x16_s(moved, held);
  addI32(sums, above, i32x4.extend_low_i16x8_s(low));
  addI32(sums + 16, above + 16, i32x4.extend_high_i16x8_s(low));
  addI32(sums + 32, above + 32, i32x4.extend_low_i16x8_s(high));
  addI32(sums + 48, above + 48, i32x4.extend_high_i16x8_s(high));
}

/**
 * Resident operand: sum = sum from above + word from the left * held word. A first word makes
 * the PE take over the word waiting in the chain.
 */
export function advanceResident<T>(
  cols: i32, tags: usize, moving: usize, held: usize, heldTags: usize,
  chain: usize, chainTags: usize, above: usize, sums: usize
): void {
  for (let c = cols - 16; c >= 0; c -= 16) {
    const at = <usize>c;
    const tag = v128.load(tags + at - 1);
    v128.store(tags + at, tag);
    const first = anyTag(tag, FIRST);
    if (v128.any_true(first)) {
      copyMasked<T>(held + at * sizeof<T>(), chain + at * sizeof<T>(), first);
      copyMasked<i8>(heldTags + at, chainTags + at, first);
    }
    if (sizeof<T>() == 1) {
      macI8(moving + at, v128.load(held + at), above + at * 4, sums + at * 4);
    } else {
      const x = at * 4;
      macF32(moving + x, held + x, above + x, sums + x, 3);
      macF32(moving + x, held + x, above + x, sums + x, 2);
      macF32(moving + x, held + x, above + x, sums + x, 1);
      macF32(moving + x, held + x, above + x, sums + x, 0);
    }
  }
}

/**
 * Streamed operands: sum = own sum + word from the left * word from above. A first word clears the
 * sum before, a last word copies it into the chain after. `heldAbove` is the row above of the
 * operand that moves down; it is read before that row moves, since rows are done bottom to top.
 */
export function advanceStreamed<T>(
  cols: i32, tags: usize, moving: usize, heldAbove: usize, held: usize, heldTagsAbove: usize,
  heldTags: usize, chain: usize, chainTags: usize, sums: usize
): void {
  for (let c = cols - 16; c >= 0; c -= 16) {
    const at = <usize>c;
    const tag = v128.load(tags + at - 1);
    v128.store(tags + at, tag);
    const downTag = v128.load(heldTagsAbove + at);
    v128.store(heldTags + at, downTag);
    const x = at * 4;
    const first = anyTag(tag, FIRST);
    if (v128.any_true(first)) clearMasked(sums + x, first);
    if (sizeof<T>() == 1) {
      const down = v128.load(heldAbove + at);
      v128.store(held + at, down);
      macI8(moving + at, down, sums + x, sums + x);
    } else {
      moveDown(heldAbove + x, held + x);
      macF32(moving + x, held + x, sums + x, sums + x, 3);
      macF32(moving + x, held + x, sums + x, sums + x, 2);
      macF32(moving + x, held + x, sums + x, sums + x, 1);
      macF32(moving + x, held + x, sums + x, sums + x, 0);
    }
    const last = anyTag(tag, LAST);
    if (v128.any_true(last)) {
      copyMasked<i32>(chain + x, sums + x, last);
      // The result is a word only where both the row and the column hold work.
      const unmapped = v128.andnot(i8x16.splat(MAPPED), downTag);
      const resultTag = v128.andnot(tag, unmapped);
      const old = v128.load(chainTags + at);
      v128.store(chainTags + at, v128.bitselect(resultTag, old, last));
    }
  }
}

// @ts-ignore: decorator
@inline function clearMasked(sums: usize, mask: v128): void {
  v128.store(sums, v128.andnot(v128.load(sums), laneMask(mask, 0)));
  v128.store(sums + 16, v128.andnot(v128.load(sums + 16), laneMask(mask, 1)));
  v128.store(sums + 32, v128.andnot(v128.load(sums + 32), laneMask(mask, 2)));
  v128.store(sums + 48, v128.andnot(v128.load(sums + 48), laneMask(mask, 3)));
}

// @ts-ignore: decorator
@inline function moveDown(from: usize, to: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to + 16, v128.load(from + 16));
  v128.store(to + 32, v128.load(from + 32));
  v128.store(to + 48, v128.load(from + 48));
}
