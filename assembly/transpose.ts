import { checkLeast, checkRows } from "./checks";
import { get, put, row } from "./simd";

/**
 * Transposes the matrix in every row of aRows: [height][width] becomes [width][height]. An
 * image's NCHW is height = channels, width = pixels of its NHWC, and the other way round.
 */
export function transpose_rows_f32(m: i32, height: i32, width: i32, aRows: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(height, 1);
    checkLeast(width, 1);
    const bytes = <u64>height * width << 2;
    checkRows(aRows, m, bytes);
    checkRows(outRows, m, bytes);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    matrix(height, width, row(aRows, at), row(outRows, at));
  }
}

/**
 * Rows at a time: of so many, the lines that a strip of eight columns shares with the next
 * stay in the second-level cache, even if they lie a power of two apart.
 */
const STRIP_ROWS = 256;

/** Eight columns at a time down a strip of rows: eight rows of the result are written in order. */
function matrix(height: i32, width: i32, a: usize, out: usize): void {
  const line = <usize>width << 2;
  const column = <usize>height << 2;
  let left = width;
  // Of a few rows (the channels of a picture) each column is stored as four numbers, of which the
  // next column overwrites those that are too many; the last ones are stored below.
  if (height < 4) {
    for (; left >= 8; left -= 4, a += 16, out += column << 2) few(height, a, line, out, column);
  }
  for (let top = 0; top < height; top += STRIP_ROWS, a += line * STRIP_ROWS, out += 4 * STRIP_ROWS) {
    const rows = min(STRIP_ROWS, height - top);
    const whole = rows & ~3;
    let from = a, to = out, columns = left;
    for (; columns >= 8; columns -= 8, from += 32, to += column << 3) {
      let x = from, y = to;
      for (const end = to + (<usize>whole << 2); y < end; x += line << 2, y += 16) {
        block(x, line, y, column, 4);
        block(x + 16, line, y + (column << 2), column, 4);
      }
      if (whole == rows) continue;
      down(rows - whole, x, line, y, column, 4);
      down(rows - whole, x + 16, line, y + (column << 2), column, 4);
    }
    for (; columns > 0; columns -= 4, from += 16, to += column << 2) down(rows, from, line, to, column, columns);
  }
}

/** The first `columns` columns, four at most, all the way down. */
function down(rows: i32, from: usize, line: usize, to: usize, column: usize, columns: i32): void {
  // Fewer than four columns are read with what follows them, as long as something does.
  const least = columns >= 4 ? 4 : 8;
  for (; rows >= least; rows -= 4, from += line << 2, to += 16) block(from, line, to, column, columns);
  for (; rows > 0; --rows, from += line, to += 4) {
    const x = get(from, columns);
    put(to, x, 1);
    if (columns > 1) put(to + column, i8x16.shuffle(x, x, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7), 1);
    if (columns > 2) put(to + 2 * column, i8x16.shuffle(x, x, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11), 1);
    if (columns > 3) put(to + 3 * column, i8x16.shuffle(x, x, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15), 1);
  }
}

/** Up to three rows of four columns. */
// @ts-ignore: decorator
@inline function few(rows: i32, from: usize, line: usize, to: usize, column: usize): void {
  const a = v128.load(from);
  const b = rows > 1 ? v128.load(from + line) : a;
  const c = rows > 2 ? v128.load(from + (line << 1)) : a;
  four(a, b, c, c, to, column, 4);
}

/** Four rows of up to four columns. */
// @ts-ignore: decorator
@inline function block(from: usize, line: usize, to: usize, column: usize, columns: i32): void {
  const a = v128.load(from), b = v128.load(from + line);
  from += line << 1;
  four(a, b, v128.load(from), v128.load(from + line), to, column, columns);
}

/** Stores the first `columns` columns of four rows, from the first on. */
// @ts-ignore: decorator
@inline function four(a: v128, b: v128, c: v128, d: v128, to: usize, column: usize, columns: i32): void {
  // Pairs of rows interleaved, then pairs of pairs.
  const ab = i8x16.shuffle(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const cd = i8x16.shuffle(c, d, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  v128.store(to, i8x16.shuffle(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
  if (columns > 1) v128.store(to + column, i8x16.shuffle(ab, cd, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
  if (columns < 3) return;
  to += column << 1;
  const ef = i8x16.shuffle(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  const gh = i8x16.shuffle(c, d, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  v128.store(to, i8x16.shuffle(ef, gh, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
  if (columns > 3) v128.store(to + column, i8x16.shuffle(ef, gh, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31));
}
