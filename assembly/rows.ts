// Row moves: lookups that only write addresses, and copies.
import { checkArray, checkByteRows, checkLeast, checkRows, checkSpan } from "./checks";
import { row } from "./simd";

/**
 * Embedding lookup without a copy: outRows[i] = table + id * rowBytes, where id is the
 * i32 at address idRows[i]. The result is a row table for the next kernel. Returns
 * -1, or the index of the first row whose id is not in 0..count-1 (rows before it are
 * written, it and those after it are not).
 */
export function gather_rows(
  m: i32, idRows: usize, table: usize, rowBytes: i32, count: i32, outRows: usize
): i32 {
  if (!ASC_NO_ASSERT) {
    checkLeast(count, 1);
    assert((rowBytes & 3) == 0 && rowBytes > 0, "rows must be a positive multiple of 4 bytes");
    assert((table & 3) == 0, "table is not 4-byte aligned");
    checkRows(idRows, m, 4);
    checkSpan(table, <u64>rowBytes * count);
    checkArray(outRows, <usize>m << 2);
  }
  for (let i = 0; i < m; ++i) {
    const at = <usize>i << 2;
    const id = load<u32>(row(idRows, at));
    if (id >= <u32>count) return i;
    store<u32>(outRows + at, <u32>(table + <usize>id * <usize>rowBytes));
  }
  return -1;
}

/** Copies `bytes` bytes from each row of aRows to the same row of outRows; rows need no alignment. */
export function copy_rows(m: i32, bytes: i32, aRows: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(bytes, 0);
    checkByteRows(aRows, m, bytes);
    checkByteRows(outRows, m, bytes);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    memory.copy(row(outRows, at), row(aRows, at), bytes);
  }
}

/** Single elements, four in a turn: reading one of two states that lie beside each other is such a copy. */
// @ts-ignore: decorator
@inline
function copyWords(count: i32, from: usize, fromBytes: usize, to: usize, toBytes: usize): void {
  for (; count >= 4; count -= 4) {
    const a = load<u32>(from);
    const b = load<u32>(from + fromBytes);
    from += 2 * fromBytes;
    const c = load<u32>(from);
    const d = load<u32>(from + fromBytes);
    from += 2 * fromBytes;
    store<u32>(to, a);
    store<u32>(to + toBytes, b);
    to += 2 * toBytes;
    store<u32>(to, c);
    store<u32>(to + toBytes, d);
    to += 2 * toBytes;
  }
  for (; count > 0; --count, from += fromBytes, to += toBytes) store<u32>(to, load<u32>(from));
}

/**
 * Copies a block of pixels between images of different sizes: in every row `lines` times
 * `pieces` pieces of `bytes` bytes, so many bytes apart in either image. Cropping an
 * image, and putting one into some channels of another, are such copies. bytes and
 * distances are multiples of 4; rows need no alignment.
 */
export function copy_blocks(
  m: i32, lines: i32, pieces: i32, bytes: i32, aLine: i32, aPiece: i32, outLine: i32, outPiece: i32,
  aRows: usize, outRows: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(lines, 1);
    checkLeast(pieces, 1);
    checkLeast(bytes, 0);
    assert(((bytes | aLine | aPiece | outLine | outPiece) & 3) == 0, "bytes and distances must be multiples of 4");
    // Programs of cells read mirrored pieces: aPiece is less than 0 there, and rows begin at the last one.
    checkByteRows(aRows, m, <usize>((lines - 1) * aLine + max(0, (pieces - 1) * aPiece) + bytes));
    checkByteRows(outRows, m, <usize>((lines - 1) * outLine + (pieces - 1) * outPiece + bytes));
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    let from = row(aRows, at);
    let to = row(outRows, at);
    for (let y = 0; y < lines; ++y, from += aLine, to += outLine) {
      if (bytes == 4) {
        copyWords(pieces, from, aPiece, to, outPiece);
      } else {
        for (let x = 0; x < pieces; ++x) {
          memory.copy(to + <usize>(x * outPiece), from + <usize>(x * aPiece), bytes);
        }
      }
    }
  }
}
