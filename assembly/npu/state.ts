// Registers of the systolic array in linear memory, structure of arrays.
//
// One plane per kind of register, a row of it per row of PEs. Every row starts 16-byte
// aligned, has its columns rounded up to 16, and 16 bytes before it: the last element in
// front of a row is the port register its words enter through. Planes fed from above
// have a row in front (row -1): the port registers of the columns.
//
//     moving   operand words that move right            f32, or i8
//     tags     one byte of control per word, moving with it
//     held     resident dataflows: the operand in use; streamed: the operand moving down
//     chain    resident: the next fold's operand moving down; streamed: results moving down
//     sums     resident: partial sums moving down; streamed: sums in place      f32, or i32

/** The word is there. Only words with a tag count; what idle registers hold never leaves. */
export const VALID: u8 = 1;
/** First word of a fold: take over the next operand (resident), start a new sum (streamed). */
export const FIRST: u8 = 2;
/** Last word of a fold: put the sum into the chain (streamed). */
export const LAST: u8 = 4;
/** The row (words from the left) or column (words from above) holds work in this fold. */
export const MAPPED: u8 = 8;
/** Alternates from fold to fold; tells the train that moves down a chain from what is parked. */
export const PARITY: u8 = 16;
/** On a column's control byte: the chain moves in this cycle. */
export const PUSH: u8 = 32;

export const DTYPE_F32: i32 = 0;
export const DTYPE_I8: i32 = 1;

// @ts-ignore: decorator
@unmanaged
export class ArrayState {
  rows: i32;
  cols: i32;
  dtype: i32;
  /** 1: the operand from above stays for a fold (ws, is); 0: it streams and sums stay (os). */
  resident: i32;
  /** Columns rounded up to a multiple of 16. */
  padCols: i32;
  tagStride: usize;
  dataStride: usize;
  sumStride: usize;
  chainStride: usize;
  moving: usize;
  tags: usize;
  held: usize;
  heldTags: usize;
  chain: usize;
  chainTags: usize;
  sums: usize;
  /** Streamed dataflow: cycles each column's chain still has to move, i32 per column. */
  drainLeft: usize;
  /** Set by a cycle: does a column's bottom port carry a word (its tag), u8 per column. */
  bottomTags: usize;
  /** PEs that multiplied a mapped word in the last cycle; kept only if `countActive`. */
  active: i32;
  countActive: i32;
}

const FRONT: usize = 16;

// @ts-ignore: decorator
@inline function align16(bytes: usize): usize {
  return (bytes + 15) & ~15;
}

/** Bytes of the registers of an array, header included. */
export function npu_state_bytes(rows: i32, cols: i32, dtype: i32, resident: i32): usize {
  const padded = <usize>((cols + 15) & ~15);
  const word: usize = dtype == DTYPE_I8 ? 1 : 4;
  const chainWord: usize = resident ? word : 4;
  const height = <usize>rows + 1;
  const tagPlane = height * (padded + FRONT);
  return align16(offsetof<ArrayState>()) +
    3 * tagPlane + // tags, heldTags, chainTags
    2 * height * (padded * word + FRONT) + // moving, held
    height * (padded * chainWord + FRONT) +
    height * (padded * 4 + FRONT) + // sums
    padded * 4 + padded;
}

/**
 * Lays out an array's registers at `state` (16-byte aligned, npu_state_bytes long) and clears them.
 * dtype: 0 f32 words and sums, 1 int8 words with int32 sums. resident: 1 for ws and is, 0 for os.
 */
export function npu_init(state: usize, rows: i32, cols: i32, dtype: i32, resident: i32): void {
  memory.fill(state, 0, npu_state_bytes(rows, cols, dtype, resident));
  const s = changetype<ArrayState>(state);
  const padded = <usize>((cols + 15) & ~15);
  const word: usize = dtype == DTYPE_I8 ? 1 : 4;
  const height = <usize>rows + 1;
  s.rows = rows;
  s.cols = cols;
  s.dtype = dtype;
  s.resident = resident;
  s.padCols = <i32>padded;
  s.tagStride = padded + FRONT;
  s.dataStride = padded * word + FRONT;
  s.chainStride = padded * (resident ? word : 4) + FRONT;
  s.sumStride = padded * 4 + FRONT;
  let at = state + align16(offsetof<ArrayState>());
  s.tags = at + s.tagStride + FRONT;
  at += height * s.tagStride;
  s.heldTags = at + s.tagStride + FRONT;
  at += height * s.tagStride;
  s.chainTags = at + s.tagStride + FRONT;
  at += height * s.tagStride;
  s.moving = at + s.dataStride + FRONT;
  at += height * s.dataStride;
  s.held = at + s.dataStride + FRONT;
  at += height * s.dataStride;
  s.chain = at + s.chainStride + FRONT;
  at += height * s.chainStride;
  s.sums = at + s.sumStride + FRONT;
  at += height * s.sumStride;
  s.drainLeft = at;
  s.bottomTags = at + padded * 4;
}
