// The array, one cycle at a time. Nothing here knows a schedule: what a PE does follows
// from the tags that reach it with the words.
import { advanceResident, advanceStreamed, copyMasked } from "./lanes";
import { ArrayState, DTYPE_I8, LAST, MAPPED, PARITY, PUSH, VALID } from "./state";

/**
 * Advances every register by one cycle. Before: the port registers hold this cycle's words and
 * tags. After: `bottomTags` says which columns' bottom ports carry a word; its value is in the
 * bottom row of `sums` (resident) or `chain` (streamed).
 */
export function npu_step(state: usize): void {
  const s = changetype<ArrayState>(state);
  if (s.resident) {
    if (s.dtype == DTYPE_I8) {
      advanceRowsResident<i8>(s);
      if (anyPush(s)) moveChain<i8>(s, true);
    } else {
      advanceRowsResident<f32>(s);
      if (anyPush(s)) moveChain<f32>(s, true);
    }
    memory.copy(s.bottomTags, bottomRow(s.tags, s.tagStride, s.rows), <usize>s.cols);
  } else {
    startDrains(s);
    if (anyPush(s)) moveChain<i32>(s, false);
    if (s.dtype == DTYPE_I8) advanceRowsStreamed<i8>(s);
    else advanceRowsStreamed<f32>(s);
    finishDrains(s);
  }
  s.active = s.countActive ? countActive(s) : 0;
}

// @ts-ignore: decorator
@inline function bottomRow(plane: usize, stride: usize, rows: i32): usize {
  return plane + <usize>(rows - 1) * stride;
}

function advanceRowsResident<T>(s: ArrayState): void {
  for (let r = s.rows - 1; r >= 0; --r) {
    const data = <usize>r * s.dataStride;
    const tag = <usize>r * s.tagStride;
    const sums = s.sums + <usize>r * s.sumStride;
    advanceResident<T>(
      s.padCols, s.tags + tag, s.moving + data, s.held + data, s.heldTags + tag,
      s.chain + <usize>r * s.chainStride, s.chainTags + tag, sums - s.sumStride, sums
    );
  }
}

function advanceRowsStreamed<T>(s: ArrayState): void {
  for (let r = s.rows - 1; r >= 0; --r) {
    const data = <usize>r * s.dataStride;
    const tag = <usize>r * s.tagStride;
    const held = s.held + data;
    const heldTags = s.heldTags + tag;
    advanceStreamed<T>(
      s.padCols, s.tags + tag, s.moving + data, held - s.dataStride, held,
      heldTags - s.tagStride, heldTags,
      s.chain + <usize>r * s.chainStride, s.chainTags + tag, s.sums + <usize>r * s.sumStride
    );
  }
}

function anyPush(s: ArrayState): bool {
  const control = s.chainTags - s.tagStride;
  for (let c: usize = 0; c < <usize>s.padCols; c += 16) {
    if (v128.any_true(v128.and(v128.load(control + c), i8x16.splat(PUSH)))) return true;
  }
  return false;
}

/**
 * Moves the chains down by one row in the columns whose control byte (row -1) says so. A PE takes
 * the word from above if that belongs to the train that is moving (same parity); so a train passes
 * over what is parked below it one row at a time. `fromPort`: row 0 takes the port's word.
 */
function moveChain<T>(s: ArrayState, fromPort: bool): void {
  const control = s.chainTags - s.tagStride;
  const top = fromPort ? 0 : 1;
  for (let r = s.rows - 1; r >= top; --r) {
    const chain = s.chain + <usize>r * s.chainStride;
    const tags = s.chainTags + <usize>r * s.tagStride;
    moveChainRow<T>(s.padCols, control, tags - s.tagStride, tags, chain - s.chainStride, chain);
  }
}

function moveChainRow<T>(
  cols: i32, control: usize, tagsAbove: usize, tags: usize, above: usize, own: usize
): void {
  for (let c = 0; c < cols; c += 16) {
    const at = <usize>c;
    const order = v128.load(control + at);
    const push = i8x16.ne(v128.and(order, i8x16.splat(PUSH)), i8x16.splat(0));
    const tag = v128.load(tagsAbove + at);
    const other = v128.and(v128.xor(tag, order), i8x16.splat(PARITY));
    const mask = v128.and(push, i8x16.eq(other, i8x16.splat(0)));
    if (v128.any_true(mask)) {
      copyMasked<T>(own + at * sizeof<T>(), above + at * sizeof<T>(), mask);
      copyMasked<i8>(tags + at, tagsAbove + at, mask);
    }
  }
}

/** Columns that still have results in their chains move them on. */
function startDrains(s: ArrayState): void {
  const control = s.chainTags - s.tagStride;
  const bottom = bottomRow(s.chainTags, s.tagStride, s.rows);
  for (let c: usize = 0; c < <usize>s.cols; ++c) {
    const left = load<i32>(s.drainLeft + (c << 2));
    store<u8>(control + c, left > 0 ? PUSH | (load<u8>(bottom + c) & PARITY) : 0);
    store<u8>(s.bottomTags + c, left > 0 ? 1 : 0);
    if (left > 0) store<i32>(s.drainLeft + (c << 2), left - 1);
  }
}

/** A column whose bottom PE has finished a sum starts to drain; sets `bottomTags`. */
function finishDrains(s: ArrayState): void {
  const arrived = bottomRow(s.tags, s.tagStride, s.rows);
  const bottom = bottomRow(s.chainTags, s.tagStride, s.rows);
  for (let c: usize = 0; c < <usize>s.cols; ++c) {
    const finished = (load<u8>(arrived + c) & LAST) != 0;
    if (finished) store<i32>(s.drainLeft + (c << 2), s.rows - 1);
    const leaves = finished || load<u8>(s.bottomTags + c) != 0;
    store<u8>(s.bottomTags + c, leaves ? VALID | load<u8>(bottom + c) : 0);
  }
}

function countActive(s: ArrayState): i32 {
  let active = 0;
  for (let r = 0; r < s.rows; ++r) {
    const tags = s.tags + <usize>r * s.tagStride;
    const heldTags = s.heldTags + <usize>r * s.tagStride;
    for (let c: usize = 0; c < <usize>s.cols; ++c) {
      active += <i32>((load<u8>(tags + c) & load<u8>(heldTags + c) & MAPPED) != 0);
    }
  }
  return active;
}
