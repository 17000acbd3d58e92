/** Packing of int8 convolution weights, and what their kernels need besides. */
import { describe } from "../../base/describe.ts";
import { knownOptions } from "../../base/options.ts";
import type { ImageShape } from "../../tensor/image_shape.ts";
import { checkLength } from "./pack_gemm.ts";
import { packedQ8Words, packQ8 } from "./pack_q8.ts";
import { PANEL_COLUMNS } from "./panels.ts";

/** Weights already quantised per output channel: weight = (value - zero) * scale. */
export interface ConvQ8Weights {
  /** [outChannels][channels / groups][kernelHeight][kernelWidth], -128..127 (ONNX QLinearConv's). */
  values: Int8Array;
  /** [outChannels]. */
  scale: Float32Array;
  /** [outChannels]; zeros if absent. */
  zero?: Int32Array;
  /** [outChannels], added in f32 after the sums are scaled; zeros if absent. */
  bias?: Float32Array;
}

/** Words before the weights of 8 channels of a depthwise convolution. */
const DEPTHWISE_HEADER = 32;

/** What of a shape says how its weights are packed. */
interface Window {
  channels: number;
  outChannels: number;
  groups: number;
  taps: number;
}

/** 4-byte words of packed int8 convolution weights. */
export function packedConvQ8Words(window: Window): number {
  const { channels, outChannels, groups, taps } = window;
  return isDepthwise(window)
    ? Math.ceil(channels / PANEL_COLUMNS) *
      (DEPTHWISE_HEADER + 8 * Math.ceil(taps / 2))
    : groups * packedQ8Words({
      n: outChannels / groups,
      k: taps * channels / groups,
    });
}

/** Whether no channel meets another. */
function isDepthwise({ channels, outChannels, groups }: Window): boolean {
  return groups === channels && groups === outChannels;
}

/**
 * Packs for `conv_q8_f32`, `conv_q8_i32` and `conv_q8_u8`.
 * @returns their `w`; the array's bytes go to memory as they are
 * @throws {RangeError} if an array has not as many elements as the shape says, or sums may not fit 32 bits
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   imageShape,
 *   instantiateKernels,
 *   KernelHost,
 *   packConvQ8,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const shape = imageShape({ height: 1, width: 3, channels: 2, outChannels: 1, kernel: 1 });
 * const w = host.block(packConvQ8(shape, {
 *   values: Int8Array.of(1, 10),
 *   scale: Float32Array.of(0.5),
 * }));
 * const image = host.rows(1, 6, Float32Array.of(1, 2, 3, 4, 5, 6));
 * const q = host.rows(1, 6, "q8");
 * host.call("quantize_static_rows_f32", { k: 6, scale: 1, zero: 0, aRows: image, qRows: q });
 * const out = host.rows(1, 3, "f32");
 * host.call("conv_q8_f32", {
 *   ...{ shape, seven: "yes", inRows: q, w, outRows: out, scratch: host.convQ8Scratch(shape) },
 * });
 * assert.deepEqual([...host.read(out)], [10.5, 21.5, 32.5]);
 * ```
 */
export function packConvQ8(
  shape: ImageShape,
  weights: ConvQ8Weights,
): Int32Array {
  knownOptions("packConvQ8", weights, ["values", "scale", "zero", "bias"]);
  const { channels, outChannels, groups, kernel: [kh, kw] } = shape;
  const { values, scale, bias } = weights;
  const window = { channels, outChannels, groups, taps: kh * kw };
  const own = channels / groups;
  if (!(values instanceof Int8Array)) {
    throw new TypeError(
      `Cannot pack weights: values must be an Int8Array, is ${
        describe(values)
      }`,
    );
  }
  if (values.length !== outChannels * own * window.taps) {
    throw new RangeError(
      `Cannot pack weights: values must have ${
        outChannels * own * window.taps
      } elements, has ${values.length}`,
    );
  }
  checkLength("scale", scale, outChannels);
  if (bias !== undefined) checkLength("bias", bias, outChannels);
  if (isDepthwise(window)) return packDepthwiseQ8(window, weights);
  const n = outChannels / groups;
  const words = new Int32Array(packedConvQ8Words(window));
  const each = words.length / groups;
  for (let g = 0; g < groups; ++g) {
    const part = <Numbers extends Float32Array | Int32Array>(
      all: Numbers | undefined,
    ) => all?.subarray(g * n, (g + 1) * n) as Numbers | undefined;
    const [zero, bias] = [part(weights.zero), part(weights.bias)];
    words.set(
      packQ8({
        n,
        k: window.taps * own,
        values: tapsFirst(
          values.subarray(g * n * own * window.taps),
          n,
          own,
          window.taps,
        ),
        scale: part(scale)!,
        ...(zero && { zero }),
        ...(bias && { bias }),
      }),
      g * each,
    );
  }
  return words;
}

/** [n][channels][taps] as [n][taps][channels]. */
function tapsFirst(
  values: Int8Array,
  n: number,
  channels: number,
  taps: number,
): Int8Array {
  const out = new Int8Array(n * channels * taps);
  for (let j = 0, at = 0; j < n; ++j) {
    for (let tap = 0; tap < taps; ++tap) {
      for (let c = 0; c < channels; ++c, ++at) {
        out[at] = values[(j * channels + c) * taps + tap];
      }
    }
  }
  return out;
}

/** Per 8 channels a header and, for every two taps, 8 times both weights in 16 bits. */
function packDepthwiseQ8(
  window: Window,
  { values, scale, zero, bias }: ConvQ8Weights,
): Int32Array {
  const { channels, taps } = window;
  const words = new Int32Array(packedConvQ8Words(window));
  const floats = new Float32Array(words.buffer);
  const halves = new Int16Array(words.buffer);
  const block = DEPTHWISE_HEADER + 8 * Math.ceil(taps / 2);
  for (let c = 0; c < channels; ++c) {
    const lane = c % PANEL_COLUMNS;
    const header = Math.floor(c / PANEL_COLUMNS) * block;
    floats[header + 16 + lane] = scale[c];
    floats[header + 24 + lane] = bias?.[c] ?? 0;
    const weights = Int32Array.from(
      values.subarray(c * taps, (c + 1) * taps),
      (value) => value - (zero?.[c] ?? 0),
    );
    if (weights.some((weight) => Math.abs(weight) > 255)) {
      throw new RangeError(
        `Cannot pack weights: the zero point of channel ${c} is no byte`,
      );
    }
    weights.forEach((weight, tap) => {
      const pair = 2 * (header + DEPTHWISE_HEADER) +
        2 * PANEL_COLUMNS * Math.floor(tap / 2);
      halves[pair + 2 * lane + tap % 2] = weight;
      words[header + lane] += weight;
    });
  }
  return words;
}

/** Least of a block's pixels, and most bytes of what a block of more sees (assembly/q8_conv.ts). */
const [LEAST_ROWS, BLOCK_ROWS, BLOCK_BYTES] = [30, 120, 256 << 10];
/** They are whole tiles of so many. */
const TILE_ROWS = 6;
/** Of a pixel, beside what it sees: the copy of a header, and addresses. */
const PIXEL_BYTES = 16 + 8;

/** What the kernels' `conv_q8_scratch_bytes` says, for plans made before there is a kernel to ask. */
export function convQ8ScratchBytes(shape: ImageShape): number {
  const { channels, outChannels, groups, kernel: [kh, kw] } = shape;
  const taps = kh * kw;
  if (isDepthwise({ channels, outChannels, groups, taps })) {
    const zeros = 16 * Math.ceil(channels / 16);
    return zeros + 16 * Math.ceil(Math.ceil(taps / 2) * shape.outWidth / 2);
  }
  const row = 16 + 4 * Math.ceil(taps * channels / groups / 4);
  const rows = Math.min(
    BLOCK_ROWS,
    Math.max(LEAST_ROWS, Math.floor(BLOCK_BYTES / row)),
  );
  return Math.ceil((rows - rows % TILE_ROWS) * (row + PIXEL_BYTES) / 16) * 16;
}
