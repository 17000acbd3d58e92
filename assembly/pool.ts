// Pooling over NHWC images (see image.ts); outChannels and groups are not looked at.
// Taps go row by row in ascending order; those outside the image take no part. Global
// pooling is a kernel as large as the image.
import { checkImages, checkShape, endTap, firstTap, image } from "./image";
import { get, put, row } from "./simd";

class Max {}
class Average {}

/** out = greatest of the window (-infinity if it lies in the padding); NaN if one is NaN. */
export function pool_max_f32(m: i32, shape: usize, inRows: usize, outRows: usize): void {
  pool<Max>(m, shape, 0, inRows, outRows);
}

/**
 * out = sum of the window / count. countPadding = 0: count is the number of taps inside
 * the image; 1: inside the image and its padding.
 */
export function pool_average_f32(
  m: i32, shape: usize, countPadding: i32, inRows: usize, outRows: usize
): void {
  pool<Average>(m, shape, countPadding, inRows, outRows);
}

function pool<T>(m: i32, s: usize, countPadding: i32, inRows: usize, outRows: usize): void {
  checkShape(s);
  checkImages(m, s, inRows, outRows, image.channels(s));
  const height = image.height(s), width = image.width(s);
  const outHeight = image.outHeight(s), outWidth = image.outWidth(s);
  const kernelHeight = image.kernelHeight(s), kernelWidth = image.kernelWidth(s);
  const downBy = image.dilationHeight(s), rightBy = image.dilationWidth(s);
  const pixel = <usize>image.channels(s) << 2;
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const a = row(inRows, at);
    let out = row(outRows, at);
    for (let oy = 0; oy < outHeight; ++oy) {
      const y = oy * image.strideHeight(s) - image.padTop(s);
      const top = firstTap(y, downBy);
      const bottom = endTap(y, downBy, height, kernelHeight);
      for (let ox = 0; ox < outWidth; ++ox, out += pixel) {
        const x = ox * image.strideWidth(s) - image.padLeft(s);
        const left = firstTap(x, rightBy);
        const right = endTap(x, rightBy, width, kernelWidth);
        const rows = max(0, bottom - top), columns = max(0, right - left);
        let count = rows * columns;
        if (idof<T>() == idof<Average>() && countPadding) {
          count = endTap(y, downBy, height + image.padBottom(s), kernelHeight) *
            endTap(x, rightBy, width + image.padRight(s), kernelWidth);
        }
        window<T>(
          image.channels(s),
          a + <usize>((y + top * downBy) * width + x + left * rightBy) * pixel,
          rows, columns, <usize>(downBy * width) * pixel, <usize>rightBy * pixel,
          <f32>count, out
        );
      }
    }
  }
}

/** One window, all channels: sixteen at a time, so that one sum does not wait for itself at every tap. */
function window<T>(
  channels: i32, a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, count: f32,
  out: usize
): void {
  const start = v128.splat<f32>(idof<T>() == idof<Max>() ? -Infinity : 0);
  const divisor = v128.splat<f32>(count);
  let left = channels;
  for (; left >= 16; left -= 16, a += 64, out += 64) {
    let s0 = start, s1 = start, s2 = start, s3 = start;
    let n = v128.splat<f32>(0);
    let line = a;
    for (let y = 0; y < rows; ++y, line += rowBytes) {
      let tap = line;
      for (let x = 0; x < columns; ++x, tap += tapBytes) {
        const x0 = v128.load(tap), x1 = v128.load(tap, 16), x2 = v128.load(tap, 32), x3 = v128.load(tap, 48);
        if (idof<T>() == idof<Max>()) n = notNumber(n, x0, x1, x2, x3);
        s0 = take<T>(s0, x0);
        s1 = take<T>(s1, x1);
        s2 = take<T>(s2, x2);
        s3 = take<T>(s3, x3);
      }
    }
    if (idof<T>() == idof<Max>() && v128.any_true(n)) {
      // A NaN somewhere: rare enough to look again, with the slow maximum that keeps it.
      for (let i: usize = 0; i < 64; i += 16) {
        fewChannels<T>(4, a + i, rows, columns, rowBytes, tapBytes, start, divisor, out + i);
      }
      continue;
    }
    v128.store(out, ended<T>(s0, divisor));
    v128.store(out, ended<T>(s1, divisor), 16);
    v128.store(out, ended<T>(s2, divisor), 32);
    v128.store(out, ended<T>(s3, divisor), 48);
  }
  for (; left > 0; left -= 4, a += 16, out += 16) {
    fewChannels<T>(left, a, rows, columns, rowBytes, tapBytes, start, divisor, out);
  }
}

/** Up to four channels of one window. */
function fewChannels<T>(
  left: i32, a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, start: v128,
  divisor: v128, out: usize
): void {
  let sum = start;
  for (let y = 0; y < rows; ++y, a += rowBytes) {
    let tap = a;
    for (let x = 0; x < columns; ++x, tap += tapBytes) {
      const value = get(tap, left);
      sum = idof<T>() == idof<Max>() ? f32x4.max(sum, value) : f32x4.add(sum, value);
    }
  }
  put(out, ended<T>(sum, divisor), left);
}

// @ts-ignore: decorator
@inline function take<T>(sum: v128, value: v128): v128 {
  return idof<T>() == idof<Max>() ? f32x4.pmax(sum, value) : f32x4.add(sum, value);
}

// @ts-ignore: decorator
@inline function ended<T>(sum: v128, divisor: v128): v128 {
  return idof<T>() == idof<Max>() ? sum : f32x4.div(sum, divisor);
}

/** Lanes of `before`, and those in which one of the others is NaN. */
// @ts-ignore: decorator
@inline function notNumber(before: v128, a: v128, b: v128, c: v128, d: v128): v128 {
  // A sum is NaN wherever a term is; where it is NaN without (infinities), looking again does no harm.
  const sum = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
  return v128.or(before, f32x4.ne(sum, sum));
}
