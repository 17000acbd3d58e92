// Images in memory: rows of a table are whole images, [height][width][channels] of f32
// (NHWC), so that one pixel's channels are one contiguous vector. What a sliding window
// does over them is told by `shape`, the address of 17 i32:
//   0 height  1 width  2 channels  3 outHeight  4 outWidth  5 outChannels
//   6 kernelHeight  7 kernelWidth  8 strideHeight  9 strideWidth  10 padTop  11 padLeft
//   12 dilationHeight  13 dilationWidth  14 groups  15 padBottom  16 padRight
import { checkLeast, checkRows, checkSpan, volumeBytes } from "./checks";

/** Field i of a shape. */
// @ts-ignore: decorator
@inline function field(shape: usize, i: usize): i32 {
  return load<i32>(shape + (i << 2));
}

export namespace image {
  // @ts-ignore: decorator
  @inline export function height(s: usize): i32 { return field(s, 0); }
  // @ts-ignore: decorator
  @inline export function width(s: usize): i32 { return field(s, 1); }
  // @ts-ignore: decorator
  @inline export function channels(s: usize): i32 { return field(s, 2); }
  // @ts-ignore: decorator
  @inline export function outHeight(s: usize): i32 { return field(s, 3); }
  // @ts-ignore: decorator
  @inline export function outWidth(s: usize): i32 { return field(s, 4); }
  // @ts-ignore: decorator
  @inline export function outChannels(s: usize): i32 { return field(s, 5); }
  // @ts-ignore: decorator
  @inline export function kernelHeight(s: usize): i32 { return field(s, 6); }
  // @ts-ignore: decorator
  @inline export function kernelWidth(s: usize): i32 { return field(s, 7); }
  // @ts-ignore: decorator
  @inline export function strideHeight(s: usize): i32 { return field(s, 8); }
  // @ts-ignore: decorator
  @inline export function strideWidth(s: usize): i32 { return field(s, 9); }
  // @ts-ignore: decorator
  @inline export function padTop(s: usize): i32 { return field(s, 10); }
  // @ts-ignore: decorator
  @inline export function padLeft(s: usize): i32 { return field(s, 11); }
  // @ts-ignore: decorator
  @inline export function dilationHeight(s: usize): i32 { return field(s, 12); }
  // @ts-ignore: decorator
  @inline export function dilationWidth(s: usize): i32 { return field(s, 13); }
  // @ts-ignore: decorator
  @inline export function groups(s: usize): i32 { return field(s, 14); }
  // @ts-ignore: decorator
  @inline export function padBottom(s: usize): i32 { return field(s, 15); }
  // @ts-ignore: decorator
  @inline export function padRight(s: usize): i32 { return field(s, 16); }
}

/** Traps unless the shape is sound; before any field is read. */
// @ts-ignore: decorator
@inline export function checkShape(shape: usize): void {
  if (!ASC_NO_ASSERT) {
    assert((shape & 3) == 0, "shape is not 4-byte aligned");
    checkSpan(shape, 17 * 4);
    for (let i = 0; i < 10; ++i) checkLeast(field(shape, i), 1);
    for (let i = 12; i < 15; ++i) checkLeast(field(shape, i), 1);
  }
}

/** Traps unless the images lie inside memory. */
// @ts-ignore: decorator
@inline export function checkImages(
  m: i32, shape: usize, inRows: usize, outRows: usize, outChannels: i32
): void {
  if (!ASC_NO_ASSERT) {
    checkRows(inRows, m, volumeBytes(image.height(shape), image.width(shape), image.channels(shape)));
    checkRows(outRows, m, volumeBytes(image.outHeight(shape), image.outWidth(shape), outChannels));
  }
}

/** First tap k with origin + k * dilation >= 0. */
// @ts-ignore: decorator
@inline export function firstTap(origin: i32, dilation: i32): i32 {
  return origin >= 0 ? 0 : (dilation - 1 - origin) / dilation;
}

/** One more than the last tap k < kernel with origin + k * dilation < size. */
// @ts-ignore: decorator
@inline export function endTap(origin: i32, dilation: i32, size: i32, kernel: i32): i32 {
  if (origin >= size) return 0;
  // Divisions cost more than small windows.
  return min(kernel, dilation == 1 ? size - origin : (size - 1 - origin) / dilation + 1);
}
