/**
 * How a row lies in memory. A request's row of an operator's operand may be several rows of a kernel: of a value
 * of shape [.., K] every K elements are one, those of all requests in one call.
 */
import { type Dtype, elementBytes } from "../tensor/tensor.ts";

/** An image as a row: [height][width][channels] of f32 (NHWC). */
export interface ImageSize {
  /** Lines of pixels. */
  readonly height: number;
  /** Pixels of a line. */
  readonly width: number;
  /** Numbers of a pixel. */
  readonly channels: number;
}

/**
 * What rows are made of: elements of a type, or quantised numbers ("q8"), which are for operators of int8 alone:
 * of every K of them a header of 16 bytes (scale, zero point, sum of the bytes), then the bytes.
 */
export type RowType = Dtype | "q8";

/** What says how a row lies. */
export interface RowShape {
  /** Type of its elements. */
  readonly dtype: RowType;
  /** Elements of a request's row, over all axes; of a ragged cell of a token's. */
  readonly width: number;
  /** Sizes of its axes, the slowest first; by default one, of `width`. */
  readonly shape?: readonly number[];
  /** Present if the row is an image, `width` = height x width x channels. */
  readonly image?: ImageSize;
}

const HEADER_BYTES = 16;

/** A multiple of 4: what rows of bytes are padded to. */
function wholeWords(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

/** Rows of kernels that a row is: all axes but the last. */
export function rowsOf(
  { width, shape }: Pick<RowShape, "width" | "shape">,
): number {
  return width / lastAxis({ width, ...(shape && { shape }) });
}

/** Elements of such a row: the last axis. */
export function lastAxis(
  { width, shape }: Pick<RowShape, "width" | "shape">,
): number {
  return shape?.at(-1) ?? width;
}

/** Sizes of the axes; an image's are height, width, channels. */
export function axesOf({ width, shape, image }: RowShape): readonly number[] {
  if (image) return [image.height, image.width, image.channels];
  return shape ?? [width];
}

/** Bytes of a row of `elements` of a type, a multiple of 4. */
export function bytesOfRow(dtype: RowType, elements: number): number {
  return dtype === "q8"
    ? HEADER_BYTES + wholeWords(elements)
    : wholeWords(elements * elementBytes(dtype));
}

/** Bytes of a request's row. */
export function rowBytes(row: RowShape): number {
  return row.dtype === "q8"
    ? rowsOf(row) * bytesOfRow("q8", lastAxis(row))
    : bytesOfRow(row.dtype, row.width);
}

/** Whether two rows are images of one size, or neither is an image. */
export function sameImage(
  { image: a }: Pick<RowShape, "image">,
  { image: b }: Pick<RowShape, "image">,
): boolean {
  return a?.height === b?.height && a?.width === b?.width &&
    a?.channels === b?.channels;
}

/** Whether what lies in one row can be read as the other. A shape is only a way to read a row, unless it has headers. */
export function sameLayout(a: RowShape, b: RowShape): boolean {
  return a.dtype === b.dtype && a.width === b.width && sameImage(a, b) &&
    (a.dtype !== "q8" || lastAxis(a) === lastAxis(b));
}

/** A row's elements, as messages name them. */
export function shapeOf(
  { width, shape, image }: Pick<RowShape, "width" | "shape" | "image">,
): string {
  if (image) return `${image.height} x ${image.width} x ${image.channels}`;
  return shape ? shape.join(" x ") || "1" : `${width}`;
}
