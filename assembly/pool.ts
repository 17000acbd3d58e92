// Pooling over NHWC images (see image.ts); outChannels and groups are not looked at.
// Taps go row by row in ascending order; those outside the image take no part. Global
// pooling is a kernel as large as the image.
import { checkImages, checkShape, endTap, firstTap, image } from "./image";
import { get, put, row } from "./simd";

class Max {}
class Average {}

/** Where others have countPadding. */
const MAX = -1;

/** out = greatest of the window (-infinity if it lies in the padding); NaN if one is NaN. */
export function pool_max_f32(m: i32, shape: usize, inRows: usize, outRows: usize): void {
  pool(m, shape, MAX, inRows, outRows);
}

/**
 * out = sum of the window / count. countPadding = 0: count is the number of taps inside
 * the image; 1: inside the image and its padding.
 */
export function pool_average_f32(
  m: i32, shape: usize, countPadding: i32, inRows: usize, outRows: usize
): void {
  pool(m, shape, countPadding, inRows, outRows);
}

function pool(m: i32, s: usize, countPadding: i32, inRows: usize, outRows: usize): void {
  checkShape(s);
  checkImages(m, s, inRows, outRows, image.channels(s));
  const height = image.height(s), width = image.width(s);
  const outHeight = image.outHeight(s), outWidth = image.outWidth(s);
  const kernelHeight = image.kernelHeight(s), kernelWidth = image.kernelWidth(s);
  const downBy = image.dilationHeight(s), rightBy = image.dilationWidth(s);
  const channels = image.channels(s);
  const pixel = <usize>channels << 2;
  const overlap = kernelHeight <= 3 && kernelWidth == 3 && image.strideWidth(s) == 2 && rightBy == 1 &&
    (channels & 15) == 0;
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
        if (countPadding > 0) {
          count = endTap(y, downBy, height + image.padBottom(s), kernelHeight) *
            endTap(x, rightBy, width + image.padRight(s), kernelWidth);
        }
        const from = a + <usize>((y + top * downBy) * width + x + left * rightBy) * pixel;
        const rowBytes = <usize>(downBy * width) * pixel, tapBytes = <usize>rightBy * pixel;
        if (countPadding == MAX) {
          const windows = overlap && x >= 0 && rows > 0 ? min((width - 1 - x) >> 1, outWidth - ox) : 0;
          if (windows > 0) {
            slide(channels, from, rows, rowBytes, pixel, windows, out);
            ox += windows - 1;
            out += <usize>(windows - 1) * pixel;
          } else window<Max>(channels, from, rows, columns, rowBytes, tapBytes, 0, out);
        } else window<Average>(channels, from, rows, columns, rowBytes, tapBytes, <f32>count, out);
      }
    }
  }
}

/** One window, all channels: thirty-two at a time, so that one sum does not wait for itself at every tap. */
function window<T>(
  channels: i32, a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, count: f32,
  out: usize
): void {
  const start = v128.splat<f32>(idof<T>() == idof<Max>() ? -Infinity : 0);
  const divisor = v128.splat<f32>(count);
  for (; channels >= 32; channels -= 32, a += 128, out += 128) {
    let s0 = start, s1 = start, s2 = start, s3 = start, s4 = start, s5 = start, s6 = start, s7 = start;
    let n = v128.splat<f32>(0);
    let line = a;
    for (let y = 0; y < rows; ++y, line += rowBytes) {
      let tap = line;
      for (let x = 0; x < columns; ++x, tap += tapBytes) {
        const x0 = v128.load(tap), x1 = v128.load(tap, 16), x2 = v128.load(tap, 32), x3 = v128.load(tap, 48);
        if (idof<T>() == idof<Max>()) n = f32x4.add(n, sumOf(x0, x1, x2, x3));
        s0 = take<T>(s0, x0);
        s1 = take<T>(s1, x1);
        s2 = take<T>(s2, x2);
        s3 = take<T>(s3, x3);
        const x4 = v128.load(tap, 64), x5 = v128.load(tap, 80), x6 = v128.load(tap, 96), x7 = v128.load(tap, 112);
        if (idof<T>() == idof<Max>()) n = f32x4.add(n, sumOf(x4, x5, x6, x7));
        s4 = take<T>(s4, x4);
        s5 = take<T>(s5, x5);
        s6 = take<T>(s6, x6);
        s7 = take<T>(s7, x7);
      }
    }
    if (idof<T>() == idof<Max>() && v128.any_true(f32x4.ne(n, n))) {
      few(true, 32, a, rows, columns, rowBytes, tapBytes, divisor, out);
      continue;
    }
    v128.store(out, ended<T>(s0, divisor));
    v128.store(out, ended<T>(s1, divisor), 16);
    v128.store(out, ended<T>(s2, divisor), 32);
    v128.store(out, ended<T>(s3, divisor), 48);
    v128.store(out, ended<T>(s4, divisor), 64);
    v128.store(out, ended<T>(s5, divisor), 80);
    v128.store(out, ended<T>(s6, divisor), 96);
    v128.store(out, ended<T>(s7, divisor), 112);
  }
  for (; channels >= 8; channels -= 8, a += 32, out += 32) eight<T>(a, rows, columns, rowBytes, tapBytes, divisor, out);
  if (channels > 0) few(idof<T>() == idof<Max>(), channels, a, rows, columns, rowBytes, tapBytes, divisor, out);
}

/**
 * Maxima of `windows` windows of three columns and up to three rows, two columns apart: a column
 * that two of them see is looked at once. A row more than once changes no maximum. channels is a multiple of 16.
 */
function slide(
  channels: i32, a: usize, rows: i32, rowBytes: usize, pixel: usize, windows: i32, out: usize
): void {
  const second = rows > 1 ? rowBytes : 0;
  const third = rows > 2 ? second + rowBytes : second;
  for (; channels > 0; channels -= 16, a += 64, out += 64) {
    let p0 = a, p1 = a + second, p2 = a + third, to = out;
    const none = v128.splat<f32>(0);
    let s0 = none, s1 = none, s2 = none, s3 = none, n = none;
    for (let column = 0; column <= 2 * windows; ++column) {
      let x0 = v128.load(p0), x1 = v128.load(p0, 16), x2 = v128.load(p0, 32), x3 = v128.load(p0, 48);
      let t0 = x0, t1 = x1, t2 = x2, t3 = x3;
      let m = sumOf(x0, x1, x2, x3);
      x0 = v128.load(p1); x1 = v128.load(p1, 16); x2 = v128.load(p1, 32); x3 = v128.load(p1, 48);
      t0 = f32x4.pmax(t0, x0); t1 = f32x4.pmax(t1, x1); t2 = f32x4.pmax(t2, x2); t3 = f32x4.pmax(t3, x3);
      m = f32x4.add(m, sumOf(x0, x1, x2, x3));
      x0 = v128.load(p2); x1 = v128.load(p2, 16); x2 = v128.load(p2, 32); x3 = v128.load(p2, 48);
      t0 = f32x4.pmax(t0, x0); t1 = f32x4.pmax(t1, x1); t2 = f32x4.pmax(t2, x2); t3 = f32x4.pmax(t3, x3);
      m = f32x4.add(m, sumOf(x0, x1, x2, x3));
      p0 += pixel; p1 += pixel; p2 += pixel;
      if (column > 0) {
        s0 = f32x4.pmax(s0, t0); s1 = f32x4.pmax(s1, t1); s2 = f32x4.pmax(s2, t2); s3 = f32x4.pmax(s3, t3);
        n = f32x4.add(n, m);
        if (column & 1) continue;
        v128.store(to, s0); v128.store(to, s1, 16); v128.store(to, s2, 32); v128.store(to, s3, 48);
        if (v128.any_true(f32x4.ne(n, n))) few(true, 16, p0 - 3 * pixel, rows, 3, rowBytes, pixel, none, to);
        to += pixel;
      }
      s0 = t0; s1 = t1; s2 = t2; s3 = t3; n = m;
    }
  }
}

/** Eight channels of one window. */
function eight<T>(
  a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, divisor: v128, out: usize
): void {
  let lo = v128.splat<f32>(idof<T>() == idof<Max>() ? -Infinity : 0), hi = lo;
  let n = v128.splat<f32>(0);
  let line = a;
  for (let y = 0; y < rows; ++y, line += rowBytes) {
    let tap = line;
    for (let x = 0; x < columns; ++x, tap += tapBytes) {
      const x0 = v128.load(tap), x1 = v128.load(tap, 16);
      if (idof<T>() == idof<Max>()) n = f32x4.add(n, f32x4.add(x0, x1));
      lo = take<T>(lo, x0);
      hi = take<T>(hi, x1);
    }
  }
  if (idof<T>() == idof<Max>() && v128.any_true(f32x4.ne(n, n))) {
    few(true, 8, a, rows, columns, rowBytes, tapBytes, divisor, out);
    return;
  }
  v128.store(out, ended<T>(lo, divisor));
  v128.store(out, ended<T>(hi, divisor), 16);
}

/** Any number of channels of one window, eight at a time: maxima or averages. */
function few(
  maxima: bool, channels: i32, a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, divisor: v128,
  out: usize
): void {
  const start = v128.splat<f32>(maxima ? -Infinity : 0);
  for (; channels > 0; channels -= 8, a += 32, out += 32) {
    let lo = start, hi = start;
    let loNot = v128.splat<f32>(0), hiNot = loNot;
    let line = a;
    for (let y = 0; y < rows; ++y, line += rowBytes) {
      let tap = line;
      for (let x = 0; x < columns; ++x, tap += tapBytes) {
        const x0 = get(tap, channels), x1 = get(tap + 16, channels - 4);
        if (maxima) {
          loNot = v128.or(loNot, f32x4.ne(x0, x0));
          hiNot = v128.or(hiNot, f32x4.ne(x1, x1));
          lo = f32x4.pmax(lo, x0);
          hi = f32x4.pmax(hi, x1);
        } else {
          lo = f32x4.add(lo, x0);
          hi = f32x4.add(hi, x1);
        }
      }
    }
    // A lane of ones is a NaN.
    put(out, maxima ? v128.or(lo, loNot) : f32x4.div(lo, divisor), channels);
    put(out + 16, maxima ? v128.or(hi, hiNot) : f32x4.div(hi, divisor), channels - 4);
  }
}

// @ts-ignore: decorator
@inline function take<T>(sum: v128, value: v128): v128 {
  return idof<T>() == idof<Max>() ? f32x4.pmax(sum, value) : f32x4.add(sum, value);
}

// @ts-ignore: decorator
@inline function ended<T>(sum: v128, divisor: v128): v128 {
  return idof<T>() == idof<Max>() ? sum : f32x4.div(sum, divisor);
}

/** A sum that is NaN if a term is. Where it is NaN without (infinities), looking again does no harm. */
// @ts-ignore: decorator
@inline function sumOf(a: v128, b: v128, c: v128, d: v128): v128 {
  return f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
}
