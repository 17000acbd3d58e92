import { describe, isList } from "../base/describe.ts";

/** What a sliding window does over an image. Images are [height][width][channels] (NHWC). */

/** A pair for height and width; one number stands for both. */
export type Pair = number | readonly [height: number, width: number];

/** A window over an image; only sizes are needed, the rest has the usual defaults. In pixels. */
export interface ImageWindow {
  /** Of the image that goes in. */
  height: number;
  /** Of the image that goes in. */
  width: number;
  /** Of the image that goes in. */
  channels: number;
  /** Channels of the image that comes out; `channels` by default (pooling, depthwise). */
  outChannels?: number;
  /** Height and width of the window. */
  kernel: Pair;
  /** From one window to the next; 1 by default. */
  stride?: Pair;
  /** From one element of the window to the next; 1 by default. */
  dilation?: Pair;
  /** Padding at the top, left, bottom, right; 0 by default. */
  pads?: readonly [number, number, number, number];
  /** Groups of channels that see only each other; 1 by default. */
  groups?: number;
  /**
   * Output lines and columns are rounded up instead of down (pooling); not for a last window that begins behind the
   * image and its first padding (ONNX MaxPool: those that would start in the right padded region are ignored).
   */
  ceil?: boolean;
}

/** Options of a transposed convolution. */
export interface TransposedWindow extends Omit<ImageWindow, "ceil"> {
  /** Lines and columns added at the bottom and the right; 0 by default. */
  outputPadding?: Pair;
}

/** A window with everything filled in, in pixels; the kernels' fields are these (assembly/image.ts). */
export interface ImageShape {
  /** Of the image that goes in. */
  height: number;
  /** Of the image that goes in. */
  width: number;
  /** Of the image that goes in. */
  channels: number;
  /** Of the image that comes out. */
  outHeight: number;
  /** Of the image that comes out. */
  outWidth: number;
  /** Of the image that comes out. */
  outChannels: number;
  /** Height and width of the window. */
  kernel: readonly [number, number];
  /** From one window to the next, down and across. */
  stride: readonly [number, number];
  /** From one element of the window to the next, down and across. */
  dilation: readonly [number, number];
  /** Padding at the top, left, bottom, right. */
  pads: readonly [number, number, number, number];
  /** Groups of channels that see only each other. */
  groups: number;
}

/**
 * The shape of a convolution or pooling.
 * @throws RangeError if a size is not a positive integer, a pad is negative, groups do not divide the channels,
 * or nothing would come out
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { imageShape } from "@shoal/core/kernels";
 *
 * // The first layer of ResNet-50.
 * const { outHeight, outWidth, outChannels } = imageShape({
 *   height: 224,
 *   width: 224,
 *   channels: 3,
 *   outChannels: 64,
 *   kernel: 7,
 *   stride: 2,
 *   pads: [3, 3, 3, 3],
 * });
 * assert.deepEqual([outHeight, outWidth, outChannels], [112, 112, 64]);
 * ```
 */
export function imageShape(window: ImageWindow): ImageShape {
  const shape = complete(window);
  const { pads: [top, left, bottom, right] } = shape;
  const size = (inside: number, after: number, axis: 0 | 1) => {
    const reach = (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
    const stride = shape.stride[axis];
    const steps = (inside + after - reach) / stride;
    if (!window.ceil) return 1 + Math.floor(steps);
    const last = Math.ceil(steps);
    return last * stride < inside ? 1 + last : last;
  };
  return sized(
    shape,
    size(shape.height + top, bottom, 0),
    size(shape.width + left, right, 1),
  );
}

/**
 * The shape of a transposed convolution.
 * @throws RangeError as `imageShape` does
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { transposedShape } from "@shoal/core/kernels";
 *
 * // An up-convolution of U-Net: twice the height and width, half the channels.
 * const { outHeight, outWidth } = transposedShape({
 *   height: 28,
 *   width: 28,
 *   channels: 1024,
 *   outChannels: 512,
 *   kernel: 2,
 *   stride: 2,
 * });
 * assert.deepEqual([outHeight, outWidth], [56, 56]);
 * ```
 */
export function transposedShape(window: TransposedWindow): ImageShape {
  const shape = complete(window);
  const { pads: [top, left, bottom, right] } = shape;
  const extra = pair(window.outputPadding ?? 0);
  if (!extra.every(isExtra)) {
    throw new RangeError(
      `Output padding must be integers >= 0, got ${describe(extra)}`,
    );
  }
  const size = (input: number, pads: number, axis: 0 | 1) =>
    (input - 1) * shape.stride[axis] - pads + extra[axis] +
    (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
  return sized(
    shape,
    size(shape.height, top + bottom, 0),
    size(shape.width, left + right, 1),
  );
}

function pair(value: Pair): readonly [number, number] {
  return isList(value) ? value as readonly [number, number] : [value, value];
}

function isExtra(pixels: number): boolean {
  return Number.isSafeInteger(pixels) && pixels >= 0;
}

function complete(window: ImageWindow | TransposedWindow): ImageShape {
  const { height, width, channels, groups = 1 } = window;
  const shape = {
    height,
    width,
    channels,
    outHeight: 0,
    outWidth: 0,
    outChannels: window.outChannels ?? channels,
    kernel: pair(window.kernel),
    stride: pair(window.stride ?? 1),
    dilation: pair(window.dilation ?? 1),
    pads: window.pads ?? [0, 0, 0, 0] as const,
    groups,
  };
  const sizes = {
    height,
    width,
    channels,
    groups,
    outChannels: shape.outChannels,
    kernelHeight: shape.kernel[0],
    kernelWidth: shape.kernel[1],
    strideHeight: shape.stride[0],
    strideWidth: shape.stride[1],
    dilationHeight: shape.dilation[0],
    dilationWidth: shape.dilation[1],
  };
  for (const [name, size] of Object.entries(sizes)) {
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new RangeError(
        `${name} must be a positive integer, is ${describe(size)}`,
      );
    }
  }
  if (
    !isList(shape.pads) || shape.pads.length !== 4 || !shape.pads.every(isExtra)
  ) {
    throw new RangeError(
      `Pads must be integers >= 0, four of them, got ${describe(shape.pads)}`,
    );
  }
  if (channels % groups !== 0 || shape.outChannels % groups !== 0) {
    throw new RangeError(
      `${groups} groups do not divide ${channels} channels into ${shape.outChannels}`,
    );
  }
  return shape;
}

function sized(
  shape: ImageShape,
  outHeight: number,
  outWidth: number,
): ImageShape {
  if (outHeight < 1 || outWidth < 1) {
    throw new RangeError(
      `A window of ${shape.kernel.join(" x ")} does not fit an image of ` +
        `${shape.height} x ${shape.width} with pads [${shape.pads}]: the result would be ` +
        `${outHeight} x ${outWidth}`,
    );
  }
  return { ...shape, outHeight, outWidth };
}
