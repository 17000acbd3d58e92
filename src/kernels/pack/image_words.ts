/** Shapes of images in the form the kernels take: see assembly/image.ts for the fields. */
import type { ImageShape } from "../../tensor/image_shape.ts";

/** What the words of a shape are, in their order. */
export const SHAPE_FIELDS = [
  "height",
  "width",
  "channels",
  "outHeight",
  "outWidth",
  "outChannels",
  "kernelHeight",
  "kernelWidth",
  "strideHeight",
  "strideWidth",
  "padTop",
  "padLeft",
  "dilationHeight",
  "dilationWidth",
  "groups",
  "padBottom",
  "padRight",
] as const;

/**
 * The words that the kernels read of a shape, 17 i32: see assembly/image.ts for the fields.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { imageShape, shapeWords } from "@shoal/core/kernels";
 *
 * const shape = imageShape({ height: 4, width: 6, channels: 3, kernel: 2 });
 * const words = shapeWords(shape);
 * assert.equal(words.length, 17);
 * // Of the image that goes in, and of the one that comes out.
 * assert.deepEqual([...words.subarray(0, 6)], [4, 6, 3, 3, 5, 3]);
 * ```
 */
export function shapeWords(shape: ImageShape): Int32Array {
  const { pads: [top, left, bottom, right] } = shape;
  return Int32Array.of(
    shape.height,
    shape.width,
    shape.channels,
    shape.outHeight,
    shape.outWidth,
    shape.outChannels,
    ...shape.kernel,
    ...shape.stride,
    ...[top, left],
    ...shape.dilation,
    shape.groups,
    ...[bottom, right],
  );
}

/** The words by name. */
export function shapeSizes(shape: ImageShape): Record<string, number> {
  const words = shapeWords(shape);
  return Object.fromEntries(SHAPE_FIELDS.map((name, i) => [name, words[i]]));
}

/** Output pixels that the convolutions take at once (BLOCK_ROWS), a table of addresses for each tap. */
const TABLE_BYTES = 4 * 120;
/** Kernel rows of up to so many floats are taken whole (MERGED_FLOATS). */
const MERGED_FLOATS = 64;
/** The same of pixels of fewer floats than SHORT_PIXEL (LONG_MERGED_FLOATS). */
const LONG_MERGED_FLOATS = 1024;
const SHORT_PIXEL = 16;

/** What the kernels' `conv_scratch_bytes` says, for plans made before there is a kernel to ask. */
export function convScratchBytes(shape: ImageShape): number {
  const { channels, groups, kernel: [height, width], dilation } = shape;
  const taps = height * width;
  const most = channels < SHORT_PIXEL ? LONG_MERGED_FLOATS : MERGED_FLOATS;
  const merges = groups === 1 && dilation[1] === 1 && width > 1 &&
    width * channels <= most;
  const patches = merges ? TABLE_BYTES * taps * channels : 0;
  return 4 * channels + (taps + 2) * TABLE_BYTES + 4 * taps + patches;
}
