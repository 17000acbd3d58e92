/** Packing of convolution weights from ONNX layouts, and folding of what follows them. */
import { knownOptions } from "../../base/options.ts";
import type { ImageShape } from "../../tensor/image_shape.ts";
import { checkLength } from "./pack_gemm.ts";
import {
  paddedColumns,
  panelFloats,
  panelsFor,
  type Run,
  wholePanels,
  writePanels,
} from "./panels.ts";

/** Weights of a convolution. */
export interface ConvWeights {
  /** Conv: [outChannels][channels / groups][kernelHeight][kernelWidth]. */
  weight: Float32Array;
  /** [outChannels]; zeros if absent. */
  bias?: Float32Array;
}

/**
 * Packs for `conv_f32`: per group, panels over K = (kernel row, kernel column, channel).
 * @returns its `w`, as f32
 * @throws {RangeError} if an array has not as many elements as the shape says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   imageShape,
 *   instantiateKernels,
 *   KernelHost,
 *   packConv,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const shape = imageShape({ height: 1, width: 3, channels: 2, outChannels: 1, kernel: 1 });
 * const w = host.block(packConv(shape, { weight: Float32Array.of(1, 10) }));
 * const image = host.rows(1, 6, Float32Array.of(1, 2, 3, 4, 5, 6));
 * const out = host.rows(1, 3, "f32");
 * host.call("conv_f32", {
 *   ...{ shape, inRows: image, w, outRows: out, scratch: host.convScratch(shape) },
 * });
 * assert.deepEqual([...host.read(out)], [21, 43, 65]);
 * ```
 */
export function packConv(
  shape: ImageShape,
  weights: ConvWeights,
): Float32Array {
  const { groups, kernel: [kh, kw] } = shape;
  const taps = kh * kw;
  const channels = shape.channels / groups;
  checkWeights(shape, weights, shape.outChannels * channels * taps);
  const all = Array.from({ length: taps }, (_, tap) => tap);
  return packTaps(shape, weights, [all], (group, column, tap) => ({
    start: (group * shape.outChannels / groups + column) * channels * taps +
      tap,
    stride: taps,
  }));
}

/**
 * Packs for `conv_transpose_f32`: per phase and group, panels over the phase's taps.
 * @param weights `weight` is ONNX ConvTranspose's [channels][outChannels / groups][kernelHeight][kernelWidth]
 * @returns its `w`, as f32
 * @throws {RangeError} if an array has not as many elements as the shape says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packConvTranspose,
 *   readKernels,
 *   transposedShape,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const shape = transposedShape({ height: 1, width: 1, channels: 1, kernel: 2, stride: 2 });
 * const weight = Float32Array.of(1, 2, 3, 4);
 * const w = host.block(packConvTranspose(shape, { weight }));
 * const image = host.rows(1, 1, Float32Array.of(10));
 * const out = host.rows(1, 4, "f32");
 * host.call("conv_transpose_f32", {
 *   ...{ shape, inRows: image, w, outRows: out, scratch: host.convScratch(shape) },
 * });
 * assert.deepEqual([...host.read(out)], [10, 20, 30, 40]);
 * ```
 */
export function packConvTranspose(
  shape: ImageShape,
  weights: ConvWeights,
): Float32Array {
  const { groups, kernel: [kh, kw], stride } = shape;
  const taps = kh * kw;
  const n = shape.outChannels / groups;
  checkWeights(shape, weights, shape.channels * n * taps);
  const phases = Array.from(
    { length: stride[0] * stride[1] },
    (_, phase) =>
      tapsOfPhase(shape, Math.floor(phase / stride[1]), phase % stride[1]),
  );
  return packTaps(shape, weights, phases, (group, column, tap) => ({
    start: (group * shape.channels / groups * n + column) * taps + tap,
    stride: n * taps,
  }));
}

/** Per phase and group, panels of the group's columns over the phase's taps; `run` says where a tap's weights are. */
function packTaps(
  { groups, channels, outChannels }: ImageShape,
  { weight, bias }: ConvWeights,
  phases: readonly (readonly number[])[],
  run: (
    group: number,
    column: number,
    tap: number,
  ) => Pick<Run, "start" | "stride">,
): Float32Array {
  const n = outChannels / groups;
  const count = channels / groups;
  const floats = phases.reduce(
    (sum, taps) =>
      sum + groups * panelFloats(panelsFor(n), taps.length * count),
    0,
  );
  const out = new Float32Array(floats);
  let offset = 0;
  for (const taps of phases) {
    for (let g = 0; g < groups; ++g) {
      const columns = paddedColumns(n, (j) => ({
        bias: bias?.[g * n + j] ?? 0,
        runs: taps.map((tap) => ({ source: weight, count, ...run(g, j, tap) })),
      }));
      offset = writePanels(out, offset, columns, wholePanels);
    }
  }
  return out;
}

/** Kernel taps that reach output pixels of one phase, ascending. */
function tapsOfPhase(
  { kernel: [kh, kw], stride, dilation }: ImageShape,
  down: number,
  right: number,
): number[] {
  const taps: number[] = [];
  for (let ky = 0; ky < kh; ++ky) {
    for (let kx = 0; kx < kw; ++kx) {
      const hits = ky * dilation[0] % stride[0] === down &&
        kx * dilation[1] % stride[1] === right;
      if (hits) taps.push(ky * kw + kx);
    }
  }
  return taps;
}

/**
 * Packs [channels][1][kernelHeight][kernelWidth] for `depthwise_f32`.
 * @returns its `w`, as f32
 * @throws {RangeError} if an array has not as many elements as the shape says
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   imageShape,
 *   instantiateKernels,
 *   KernelHost,
 *   packDepthwise,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const shape = imageShape({ height: 1, width: 2, channels: 2, kernel: 1 });
 * const w = host.block(packDepthwise(shape, { weight: Float32Array.of(2, 3) }));
 * const image = host.rows(1, 4, Float32Array.of(1, 1, 5, 5));
 * const out = host.rows(1, 4, "f32");
 * host.call("depthwise_f32", { shape, inRows: image, w, outRows: out });
 * assert.deepEqual([...host.read(out)], [2, 3, 10, 15]);
 * ```
 */
export function packDepthwise(
  shape: ImageShape,
  weights: ConvWeights,
): Float32Array {
  const { channels, kernel: [kh, kw] } = shape;
  const taps = kh * kw;
  checkWeights(
    { ...shape, outChannels: channels },
    weights,
    channels * taps,
  );
  const { weight, bias } = weights;
  const out = new Float32Array(Math.ceil(channels / 4) * 4 * (1 + taps));
  for (let c = 0; c < channels; ++c) {
    const at = (c >> 2) * 4 * (1 + taps) + (c & 3);
    out[at] = bias?.[c] ?? 0;
    for (let tap = 0; tap < taps; ++tap) {
      out[at + 4 * (1 + tap)] = weight[c * taps + tap];
    }
  }
  return out;
}

/** A batch normalisation in inference form, [channels] each. */
export interface BatchNorm {
  /** What the normalised values are multiplied by (gamma). */
  scale: Float32Array;
  /** What is added then (beta). */
  shift: Float32Array;
  /** Of the values that come in. */
  mean: Float32Array;
  /** Of the values that come in. */
  variance: Float32Array;
  /** 1e-5 by default (ONNX). */
  epsilon?: number;
}

/**
 * Folds a BatchNormalization that follows a convolution or Gemm into its weights, whose rows
 * (the first axis) are output channels; computed in double precision, rounded once.
 * @param transposed the shape, if the convolution is a transposed one: its weights' first axis are input channels
 * @throws {RangeError} if lengths disagree
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { foldBatchNorm } from "@shoal/core/kernels";
 *
 * // Two output channels of one weight each.
 * const { weight, bias } = foldBatchNorm(
 *   { weight: Float32Array.of(1, 2), bias: Float32Array.of(0, 5) },
 *   {
 *     scale: Float32Array.of(1, 3),
 *     shift: Float32Array.of(0, 1),
 *     mean: Float32Array.of(0, 5),
 *     variance: Float32Array.of(1, 4),
 *     epsilon: 0,
 *   },
 * );
 * assert.deepEqual([[...weight], [...bias]], [[1, 3], [0, 1]]);
 * ```
 */
export function foldBatchNorm(
  weights: ConvWeights,
  norm: BatchNorm,
  transposed?: ImageShape,
): Required<ConvWeights> {
  knownOptions("foldBatchNorm", weights, ["weight", "bias"]);
  knownOptions("foldBatchNorm", norm, [
    ...["scale", "shift", "mean", "variance", "epsilon"],
  ]);
  const { weight, bias } = weights;
  const { scale, shift, mean, variance, epsilon = 1e-5 } = norm;
  const n = scale.length;
  checkLength("weight", weight, weight.length);
  for (
    const [name, array] of Object.entries({ scale, shift, mean, variance })
  ) {
    checkLength(name, array, n);
  }
  if (bias !== undefined) checkLength("bias", bias, n);
  if (weight.length % n !== 0) {
    throw new RangeError(
      `Cannot fold ${n} channels into ${weight.length} weights`,
    );
  }
  if (transposed) {
    const { outChannels, channels, groups, kernel: [kh, kw] } = transposed;
    checkLength("scale", scale, outChannels);
    checkLength("weight", weight, channels * n / groups * kh * kw);
  }
  const channelOf = transposed
    ? transposedChannel(transposed)
    : rowOf(weight, n);
  const factor = Float64Array.from(
    scale,
    (s, j) => s / Math.sqrt(variance[j] + epsilon),
  );
  return {
    weight: weight.map((value, i) => value * factor[channelOf(i)]),
    bias: Float32Array.from(
      { length: n },
      (_, j) => ((bias?.[j] ?? 0) - mean[j]) * factor[j] + shift[j],
    ),
  };
}

/** The row of an element of a matrix. */
function rowOf(weight: Float32Array, rows: number): (i: number) => number {
  const row = weight.length / rows;
  return (i) => Math.floor(i / row);
}

/** The output channel of a weight [channels][outChannels / groups][kernelHeight][kernelWidth]. */
function transposedChannel(
  { channels, outChannels, groups, kernel: [kh, kw] }: ImageShape,
): (i: number) => number {
  const [n, taps] = [outChannels / groups, kh * kw];
  return (i) => {
    const column = Math.floor(i / taps);
    const group = Math.floor(column / n / (channels / groups));
    return group * n + column % n;
  };
}

function checkWeights(
  shape: ImageShape,
  weights: ConvWeights,
  length: number,
): void {
  knownOptions("A convolution's packer", weights, ["weight", "bias"]);
  const { weight, bias } = weights;
  checkLength("weight", weight, length);
  if (bias !== undefined) checkLength("bias", bias, shape.outChannels);
}
