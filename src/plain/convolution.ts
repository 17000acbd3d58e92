/**
 * Convolutions over any number of spatial axes. A sum takes its products channel by channel and, within one, in
 * row-major order of the kernel, in f64; the bias comes last, then it is rounded.
 */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import {
  checkDims,
  checkRank,
  choice,
  FLOATS,
  floats,
  int,
  ints,
  optionalFloats,
} from "./given.ts";
import { outputOf } from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";
import {
  AUTO_PADS,
  checkTaps,
  extent,
  halves,
  perAxis,
  tapsOf,
  type Windows,
  windowsOf,
} from "./windows.ts";

/** Numbers with dims, whatever they are kept in. */
export interface NumberArray {
  readonly dims: readonly number[];
  readonly data: ArrayLike<number>;
}

/** Sums of a convolution, and the dims of its result. */
export interface Convolved {
  readonly dims: readonly number[];
  /** In f64, without bias. */
  readonly sums: Float64Array;
}

function checkKernelShape(
  attributes: PlainAttributes,
  kernel: readonly number[],
): void {
  const given = ints(attributes, "kernel_shape");
  if (given && describeShape(given) !== describeShape(kernel)) {
    throw new RangeError(
      `attribute kernel_shape is ${describeShape(given)}, the weight's ${
        describeShape(kernel)
      }`,
    );
  }
}

/**
 * The sums of a convolution.
 * @param x [N, C, spatial...]
 * @param w [M, C / groups, kernel...]
 */
export function convolved(
  x: NumberArray,
  w: NumberArray,
  attributes: PlainAttributes,
): Convolved {
  const [batch, channels, ...spatial] = x.dims;
  const [filters, depth, ...kernel] = w.dims;
  const groups = int(attributes, "group", 1);
  checkKernelShape(attributes, kernel);
  if (
    depth * groups !== channels || filters % groups !== 0 ||
    kernel.length !== spatial.length
  ) {
    throw new RangeError(
      `a weight of ${describeShape(w.dims)} in ${groups} groups does not fit ${
        describeShape(x.dims)
      }`,
    );
  }
  const windows = windowsOf(attributes, spatial, kernel);
  const taps = tapsOf(windows);
  const dims = [batch, filters, ...windows.out];
  const pixels = elementCount(spatial);
  const outPixels = elementCount(windows.out);
  const sums = new Float64Array(outputOf("bool", dims).data.length);
  for (let n = 0; n < batch; n++) {
    for (let m = 0; m < filters; m++) {
      const group = Math.floor(m / (filters / groups));
      const sum = sums.subarray(
        (n * filters + m) * outPixels,
        (n * filters + m + 1) * outPixels,
      );
      for (let c = 0; c < depth; c++) {
        const from = (n * channels + group * depth + c) * pixels;
        taps.forEach((tap, k) => {
          const weight = w.data[(m * depth + c) * taps.length + k];
          for (let i = 0; i < sum.length; i++) {
            if (tap[i] >= 0) sum[i] += weight * x.data[from + tap[i]];
          }
        });
      }
    }
  }
  return { dims, sums };
}

/** Sums with a bias for each channel, rounded to f32. */
function finished(
  { dims, sums }: Convolved,
  bias: PlainTensor<"float32"> | undefined,
): PlainTensor {
  const result = outputOf("float32", dims);
  const pixels = elementCount(dims.slice(2));
  if (bias) checkDims(2, "B", bias, [dims[1]]);
  for (let i = 0; i < sums.length; i++) {
    result.data[i] = sums[i] +
      (bias ? bias.data[Math.floor(i / pixels) % dims[1]] : 0);
  }
  return result;
}

const Conv: PlainOperator = {
  since: [1, 11, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    const w = floats(inputs, 1, "W");
    checkRank(0, "X", x, 3);
    checkRank(1, "W", w, 3);
    const bias = optionalFloats(inputs, 2, "B");
    return [finished(convolved(x, w, attributes), bias)];
  },
};

/** Where a transposed convolution's windows lie in its result. */
function transposedWindows(
  attributes: PlainAttributes,
  input: readonly number[],
  kernel: readonly number[],
): Windows {
  const rank = input.length;
  const strides = perAxis(attributes, "strides", rank, 1, 1);
  const dilations = perAxis(attributes, "dilations", rank, 1, 1);
  const pads = perAxis(attributes, "pads", 2 * rank, 0, 0);
  const more = perAxis(attributes, "output_padding", rank, 0, 0);
  const autoPad = choice(attributes, "auto_pad", AUTO_PADS);
  const isSame = autoPad === "SAME_UPPER" || autoPad === "SAME_LOWER";
  // Files also give it with batch and channels.
  const wanted = ints(attributes, "output_shape")?.slice(-rank) ??
    (isSame ? input.map((size, axis) => size * strides[axis]) : undefined);
  if (wanted && wanted.length !== rank) {
    throw new RangeError(
      `attribute output_shape has ${wanted.length} sizes, expected ${rank}`,
    );
  }
  const axes = input.map((size, axis) => {
    const whole = strides[axis] * (size - 1) + more[axis] +
      extent(kernel[axis], dilations[axis]);
    if (wanted) {
      const total = Math.max(0, whole - wanted[axis]);
      const [before, after] = halves(total, autoPad === "SAME_UPPER");
      return { size: wanted[axis], before, after };
    }
    const [before, after] = autoPad === "VALID"
      ? [0, 0]
      : [pads[axis], pads[axis + rank]];
    return { size: whole - before - after, before, after };
  });
  return {
    spatial: axes.map(({ size }) => size),
    kernel,
    strides,
    dilations,
    before: axes.map(({ before }) => before),
    after: axes.map(({ after }) => after),
    out: input,
  };
}

/** The windows of a convolution lie in the result; each element of the input adds the kernel, times itself. */
const ConvTranspose: PlainOperator = {
  since: [1, 11, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    const w = floats(inputs, 1, "W");
    checkRank(0, "X", x, 3);
    checkRank(1, "W", w, x.dims.length, x.dims.length);
    const bias = optionalFloats(inputs, 2, "B");
    const [batch, channels, ...spatial] = x.dims;
    const [rows, depth, ...kernel] = w.dims;
    const groups = int(attributes, "group", 1);
    checkKernelShape(attributes, kernel);
    if (rows !== channels || channels % groups !== 0) {
      throw new RangeError(
        `a weight of ${
          describeShape(w.dims)
        } in ${groups} groups does not fit ${describeShape(x.dims)}`,
      );
    }
    const windows = transposedWindows(attributes, spatial, kernel);
    checkTaps(windows);
    const dims = [batch, depth * groups, ...windows.spatial];
    const sums = new Float64Array(outputOf("bool", dims).data.length);
    const taps = tapsOf(windows);
    const pixels = elementCount(spatial);
    const outPixels = elementCount(windows.spatial);
    for (let n = 0; n < batch; n++) {
      for (let c = 0; c < channels; c++) {
        const group = Math.floor(c / (channels / groups));
        const from = (n * channels + c) * pixels;
        for (let d = 0; d < depth; d++) {
          const to = (n * dims[1] + group * depth + d) * outPixels;
          taps.forEach((tap, k) => {
            const weight = w.data[(c * depth + d) * taps.length + k];
            for (let i = 0; i < pixels; i++) {
              if (tap[i] >= 0) sums[to + tap[i]] += weight * x.data[from + i];
            }
          });
        }
      }
    }
    return [finished({ dims, sums }, bias)];
  },
};

export const CONVOLUTIONS: Readonly<Record<string, PlainOperator>> = {
  Conv,
  ConvTranspose,
};
