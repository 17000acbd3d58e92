/** A 3 x 3 convolution on the tile model, by the two algorithms of Fig. 9. The paper does not say which it took. */
import {
  type KernelTime,
  kernelTime,
  TITAN_RTX,
} from "../../../src/cost/gpu_cost.ts";
import type { LayerSpec } from "../../../src/npu/layer_spec.ts";
import { conv } from "../../../src/npu/layers.ts";

/** Height and width, and channels in and out: the 3 x 3 convolutions of ResNets' stages. */
export interface Shape {
  readonly side: number;
  readonly channels: number;
}

export const SHAPES: readonly Shape[] = [
  { side: 56, channels: 64 },
  { side: 28, channels: 128 },
  { side: 14, channels: 256 },
  { side: 7, channels: 512 },
];

function im2col({ side, channels }: Shape, batch: number): LayerSpec {
  return conv("conv", {
    channelsIn: channels,
    channelsOut: channels,
    height: side,
    width: side,
    filter: 3,
    padding: 1,
  }, batch);
}

/**
 * Sixteen products of a channel vector per 2 x 2 output pixels; transforms are free. A block of threads makes all
 * sixteen for its pixels and channels, so that a tile is as many times as deep.
 * Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (CVPR 2016), F(2x2, 3x3) in one kernel.
 */
function winograd(shape: Shape, batch: number): LayerSpec {
  const { side, channels } = shape;
  const tiles = batch * Math.ceil(side / 2) ** 2;
  return {
    ...im2col(shape, batch),
    gemms: [{ gemm: { m: tiles, n: channels, k: 16 * channels }, copies: 1 }],
  };
}

export const ALGORITHMS = { im2col, winograd } as const;
export type Algorithm = keyof typeof ALGORITHMS;

export function convolutionTime(
  algorithm: Algorithm,
  shape: Shape,
  batch: number,
): KernelTime {
  return kernelTime(ALGORITHMS[algorithm](shape, batch), TITAN_RTX);
}
