/** How one axis of an image is resized: ONNX Resize's modes. */

/**
 * Elements of an axis that is resized by a scale, or of its part from `from` to `to`, shares of it. Sizes are products
 * of f32, as in ONNX Runtime and where the scale was written: 10 by 1.3 is 13, though the f32 next to 1.3 is below it.
 */
export function resizedBy(
  size: number,
  scale: number,
  from = 0,
  to = 1,
): number {
  return Math.floor(Math.fround(size * (to - from) * scale));
}

/** How output coordinates map to input coordinates. */
export type CoordinateMode =
  | "half_pixel"
  | "asymmetric"
  | "align_corners"
  | "pytorch_half_pixel";

/** How a coordinate between two pixels is rounded. */
export type NearestMode =
  | "round_prefer_floor"
  | "round_prefer_ceil"
  | "floor"
  | "ceil";

/** One axis of a resize. */
export interface ResizeAxis {
  /** Input size. */
  input: number;
  /** Output size. */
  output: number;
  /** output / input if absent; ONNX `scales` may differ from it. */
  scale?: number;
  /** half_pixel by default. */
  coordinates?: CoordinateMode;
}
