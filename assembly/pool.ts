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

/** One window, all channels. */
function window<T>(
  channels: i32, a: usize, rows: i32, columns: i32, rowBytes: usize, tapBytes: usize, count: f32,
  out: usize
): void {
  const start = v128.splat<f32>(idof<T>() == idof<Max>() ? -Infinity : 0);
  const divisor = v128.splat<f32>(count);
  for (let left = channels; left > 0; left -= 4, a += 16, out += 16) {
    let sum = start;
    let line = a;
    for (let y = 0; y < rows; ++y, line += rowBytes) {
      let tap = line;
      for (let x = 0; x < columns; ++x, tap += tapBytes) {
        const value = get(tap, left);
        if (idof<T>() == idof<Max>()) sum = f32x4.max(sum, value);
        else sum = f32x4.add(sum, value);
      }
    }
    put(out, idof<T>() == idof<Max>() ? sum : f32x4.div(sum, divisor), left);
  }
}
