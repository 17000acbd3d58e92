/**
 * Word addresses of the operands. Each is a matrix over two of the axes m, n, k whose address is a
 * sum of one term per axis, also for im2col: ((y*W + x)*C + c) with y = oy*stride + dy splits into a
 * window part (of m) and a tap part (of k).
 *
 * Windows that hang over the bottom or right edge (output size rounded up) have no address there: -1.
 */
import type { Axis } from "../dataflow.ts";
import { type ConvGeometry, outputShape } from "../conv_geometry.ts";
import type { ScaleSimLayer } from "./layer.ts";

export const NO_ADDRESS = -1;
export const OFFSETS = {
  ifmap: 0,
  filter: 10_000_000,
  ofmap: 20_000_000,
} as const;

export interface AddressMatrix {
  /** The address of (i, j) is first[i] + second[j], `first` over `axes[0]`. */
  axes: readonly [Axis, Axis];
  first: Int32Array;
  second: Int32Array;
  /** Set where some windows hang over an edge: is the tap j of window i on the ifmap? */
  onMap?: (i: number, j: number) => boolean;
  /** One more than the largest address, without the operand's offset. */
  span: number;
}

/** Addresses without the operand's offset. */
export function addressMatrix(
  layer: ScaleSimLayer,
  operand: keyof typeof OFFSETS,
): AddressMatrix {
  const { m, n, k } = layer.gemm;
  if (operand === "filter") {
    return {
      axes: ["n", "k"],
      first: steps(n, k),
      second: steps(k, 1),
      span: n * k,
    };
  }
  if (operand === "ofmap") {
    return {
      axes: ["m", "n"],
      first: steps(m, n),
      second: steps(n, 1),
      span: m * n,
    };
  }
  if (layer.geometry === undefined) {
    return {
      axes: ["m", "k"],
      first: steps(m, k),
      second: steps(k, 1),
      span: m * k,
    };
  }
  return convAddresses(layer.geometry, layer.gemm);
}

function steps(count: number, stride: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i * stride);
}

/** Do some windows hang over the bottom or right edge, or lie beyond it? */
export function overhangs(geometry: ConvGeometry): boolean {
  const { ifmapH, ifmapW, filterH, filterW, strideH, strideW } = geometry;
  const { h, w } = outputShape(geometry, "ceil");
  return (h - 1) * strideH + filterH > ifmapH ||
    (w - 1) * strideW + filterW > ifmapW;
}

function convAddresses(
  geometry: ConvGeometry,
  { m, k }: { m: number; k: number },
): AddressMatrix {
  const { ifmapH, ifmapW, filterW, channelsIn, strideH, strideW } = geometry;
  const { w } = outputShape(geometry, "ceil");
  const yOf = Int32Array.from(
    { length: m },
    (_, i) => Math.floor(i / w) * strideH,
  );
  const xOf = Int32Array.from({ length: m }, (_, i) => (i % w) * strideW);
  const dyOf = Int32Array.from(
    { length: k },
    (_, j) => Math.floor(j / (filterW * channelsIn)),
  );
  const dxOf = Int32Array.from(
    { length: k },
    (_, j) => Math.floor(j / channelsIn) % filterW,
  );
  return {
    axes: ["m", "k"],
    first: yOf.map((y, i) => (y * ifmapW + xOf[i]) * channelsIn),
    second: dyOf.map((dy, j) =>
      (dy * ifmapW + dxOf[j]) * channelsIn + j % channelsIn
    ),
    onMap: overhangs(geometry)
      ? (i, j) => yOf[i] + dyOf[j] < ifmapH && xOf[i] + dxOf[j] < ifmapW
      : undefined,
    span: ifmapH * ifmapW * channelsIn,
  };
}
