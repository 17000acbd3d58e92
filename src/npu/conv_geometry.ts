/**
 * A convolution as a GEMM (im2col): which ifmap word each (m, k) is.
 *
 * Two output sizes are in use. `floor` is what PyTorch, TensorFlow and ONNX compute; `ceil` is what
 * SCALE-Sim does: when the stride does not divide (size - filter), it adds one more output whose
 * window hangs over the edge. Layer files give the size with padding included.
 */
import type { Gemm } from "./dataflow.ts";
import { positiveInteger } from "./checks.ts";

export interface ConvGeometry {
  /** Ifmap height and width, padding included. */
  ifmapH: number;
  ifmapW: number;
  filterH: number;
  filterW: number;
  channelsIn: number;
  channelsOut: number;
  strideH: number;
  strideW: number;
}

export type Rounding = "floor" | "ceil";

/** Outputs along one side of length `size` (padding included). */
export function outputSize(
  size: number,
  { filter, stride, rounding }: {
    filter: number;
    stride: number;
    rounding: Rounding;
  },
): number {
  const steps = (size - filter) / stride;
  return (rounding === "floor" ? Math.floor(steps) : Math.ceil(steps)) + 1;
}

/** Throws a RangeError that names the dimension if the geometry is impossible. */
export function checkGeometry(geometry: ConvGeometry): ConvGeometry {
  for (const [name, value] of Object.entries(geometry)) {
    positiveInteger(value, `convolution ${name}`);
  }
  const { ifmapH, ifmapW, filterH, filterW } = geometry;
  if (filterH > ifmapH || filterW > ifmapW) {
    throw new RangeError(
      `filter ${filterH}x${filterW} is larger than its input ${ifmapH}x${ifmapW} ` +
        "(give the input size with padding included)",
    );
  }
  return geometry;
}

export function outputShape(
  geometry: ConvGeometry,
  rounding: Rounding,
): { h: number; w: number } {
  const { ifmapH, ifmapW, filterH, filterW, strideH, strideW } = geometry;
  return {
    h: outputSize(ifmapH, { filter: filterH, stride: strideH, rounding }),
    w: outputSize(ifmapW, { filter: filterW, stride: strideW, rounding }),
  };
}

export function convGemm(geometry: ConvGeometry, rounding: Rounding): Gemm {
  const { h, w } = outputShape(geometry, rounding);
  const { filterH, filterW, channelsIn, channelsOut } = geometry;
  return { m: h * w, n: channelsOut, k: filterH * filterW * channelsIn };
}

/** Distinct ifmap words the windows touch: touched rows x touched columns x channels. */
export function distinctIfmapWords(
  geometry: ConvGeometry,
  rounding: Rounding,
): number {
  const { h, w } = outputShape(geometry, rounding);
  const { ifmapH, ifmapW, filterH, filterW, strideH, strideW, channelsIn } =
    geometry;
  return touched(h, { size: ifmapH, filter: filterH, stride: strideH }) *
    touched(w, { size: ifmapW, filter: filterW, stride: strideW }) * channelsIn;
}

function touched(
  outputs: number,
  { size, filter, stride }: { size: number; filter: number; stride: number },
): number {
  if (stride <= filter) return Math.min(size, (outputs - 1) * stride + filter);
  // The last window may hang over the edge, or lie beyond it.
  const rest = size - (outputs - 1) * stride;
  return (outputs - 1) * filter + Math.max(0, Math.min(filter, rest));
}
