/**
 * Where the lines (or columns) of a resized image come from: ONNX Resize's coordinate modes
 * as tables for `resize_nearest_f32` and `resize_linear_f32`.
 */

import type { NearestMode, ResizeAxis } from "../../tensor/resize_axis.ts";

export type {
  CoordinateMode,
  NearestMode,
  ResizeAxis,
} from "../../tensor/resize_axis.ts";

function coordinate(
  { input, output, scale = output / input, coordinates = "half_pixel" }:
    ResizeAxis,
  i: number,
): number {
  switch (coordinates) {
    case "half_pixel":
      return (i + 0.5) / scale - 0.5;
    case "pytorch_half_pixel":
      return output > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case "asymmetric":
      return i / scale;
    case "align_corners":
      // ONNX takes the unrounded size where scales are given.
      return output > 1 ? i * (input - 1) / (scale * input - 1) : 0;
    default:
      return coordinates satisfies never;
  }
}

const ROUND: Record<NearestMode, (x: number) => number> = {
  round_prefer_floor: (x) => Math.ceil(x - 0.5),
  round_prefer_ceil: (x) => Math.floor(x + 0.5),
  floor: Math.floor,
  ceil: Math.ceil,
};

/**
 * Input index of every output line or column, clamped to the image: `lines` or `columns` of
 * `resize_nearest_f32`.
 * @returns `axis.output` i32
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { resizeNearest } from "@shoal/core/kernels";
 *
 * assert.deepEqual([...resizeNearest({ input: 2, output: 4 })], [0, 0, 1, 1]);
 * ```
 */
export function resizeNearest(
  axis: ResizeAxis,
  mode: NearestMode = "round_prefer_floor",
): Int32Array {
  return Int32Array.from(
    { length: axis.output },
    (_, i) => clamp(ROUND[mode](coordinate(axis, i)), axis.input),
  );
}

/**
 * Per output line or column, two input indices (i32) and their weights (f32), as words: `lines` or
 * `columns` of `resize_linear_f32`.
 * @returns 4 x `axis.output` words
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { resizeLinear } from "@shoal/core/kernels";
 *
 * const words = resizeLinear({ input: 2, output: 3, coordinates: "align_corners" });
 * const [first, second] = words.subarray(4, 6);
 * assert.deepEqual([first, second], [0, 1]);
 * assert.deepEqual([...new Float32Array(words.buffer, 24, 2)], [0.5, 0.5]);
 * ```
 */
export function resizeLinear(axis: ResizeAxis): Int32Array {
  const words = new Int32Array(4 * axis.output);
  const floats = new Float32Array(words.buffer);
  for (let i = 0; i < axis.output; ++i) {
    const x = Math.max(0, Math.min(axis.input - 1, coordinate(axis, i)));
    const first = Math.floor(x);
    words[4 * i] = first;
    words[4 * i + 1] = clamp(first + 1, axis.input);
    floats[4 * i + 2] = 1 - (x - first);
    floats[4 * i + 3] = x - first;
  }
  return words;
}

function clamp(index: number, size: number): number {
  return Math.max(0, Math.min(size - 1, index));
}
