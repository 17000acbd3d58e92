/** How one axis of an image is resized: ONNX Resize's modes. */

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
