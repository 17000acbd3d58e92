/**
 * Windows that slide over an input of any number of spatial axes: convolutions and pooling. Which element of the
 * input each element of a window reads is a table, made once.
 */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import { choice, ints } from "./given.ts";
import { mappedPositions, stridesOf, upTo } from "./layout.ts";
import type { PlainAttributes } from "./operator.ts";

/** How windows lie over an input; one number for each spatial axis. */
export interface Windows {
  /** Sizes of the input. */
  readonly spatial: readonly number[];
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Padding before the first element. */
  readonly before: readonly number[];
  /** Padding behind the last. */
  readonly after: readonly number[];
  /** Windows along each axis. */
  readonly out: readonly number[];
}

export const AUTO_PADS = [
  "NOTSET",
  "SAME_UPPER",
  "SAME_LOWER",
  "VALID",
] as const;

/** A list of a number for each axis. @throws RangeError when there are others, or one below `least` */
export function perAxis(
  attributes: PlainAttributes,
  name: string,
  count: number,
  otherwise: number,
  least: number,
): readonly number[] {
  const given = ints(attributes, name) ??
    new Array<number>(count).fill(otherwise);
  if (given.length !== count || given.some((number) => !(number >= least))) {
    throw new RangeError(
      `attribute ${name} is ${
        describeShape(given)
      }, expected ${count} numbers from ${least}`,
    );
  }
  return given;
}

/** Elements from a window's first to its last, along an axis. */
export function extent(kernel: number, dilation: number): number {
  return (kernel - 1) * dilation + 1;
}

/** Padding in all, in two halves; of an odd number the larger one at the end, or at the beginning. */
export function halves(
  total: number,
  isUpper: boolean,
): [before: number, after: number] {
  const less = Math.floor(total / 2);
  return isUpper ? [less, total - less] : [total - less, less];
}

/** Entries of a table of windows; 256 MiB. Images of 1,920 by 1,080 with windows of 5 by 5 have 52 million. */
const TAPS_MAX = 2 ** 26;

/** @throws RangeError when the table of windows would be too large */
export function checkTaps(
  { kernel, out }: Pick<Windows, "kernel" | "out">,
): void {
  if (elementCount(kernel) * Math.max(1, elementCount(out)) > TAPS_MAX) {
    throw new RangeError(
      `${describeShape(out)} windows of ${
        describeShape(kernel)
      } are more than ${TAPS_MAX} elements`,
    );
  }
}

/**
 * Windows as attributes describe them.
 * @param spatial sizes of the input
 * @param kernel sizes of a window
 * @param isCeil whether a last window that is cut off counts (pooling); one that begins behind the input never does
 */
export function windowsOf(
  attributes: PlainAttributes,
  spatial: readonly number[],
  kernel: readonly number[],
  isCeil = false,
): Windows {
  const rank = spatial.length;
  const strides = perAxis(attributes, "strides", rank, 1, 1);
  const dilations = perAxis(attributes, "dilations", rank, 1, 1);
  const pads = perAxis(attributes, "pads", 2 * rank, 0, 0);
  const autoPad = choice(attributes, "auto_pad", AUTO_PADS);
  if (kernel.length !== rank || kernel.some((size) => !(size >= 1))) {
    throw new RangeError(
      `a kernel of ${describeShape(kernel)} over ${describeShape(spatial)}`,
    );
  }
  const axes = spatial.map((size, axis) => {
    const stride = strides[axis];
    const long = extent(kernel[axis], dilations[axis]);
    if (autoPad === "SAME_UPPER" || autoPad === "SAME_LOWER") {
      const out = Math.ceil(size / stride);
      // Windows far apart need none, as in TensorFlow, whose rule it is; ONNX's formula is below 0 there, and of ONNX
      // Runtime's operators each crops in another way or refuses.
      const total = Math.max(0, (out - 1) * stride + long - size);
      const [before, after] = halves(total, autoPad === "SAME_UPPER");
      return { before, after, out };
    }
    const [before, after] = autoPad === "VALID"
      ? [0, 0]
      : [pads[axis], pads[axis + rank]];
    const room = (size + before + after - long) / stride;
    let out = Math.floor(room) + 1;
    if (isCeil && autoPad === "NOTSET") {
      out = Math.ceil(room) + 1;
      if ((out - 1) * stride >= size + before) out--;
    }
    // Of a size that is rounded up, the first window may be cut off as well.
    if (out < 1) {
      throw new RangeError(
        `a window of ${long} elements over ${size} and ${
          before + after
        } of padding`,
      );
    }
    return { before, after, out };
  });
  const windows = {
    spatial,
    kernel,
    strides,
    dilations,
    before: axes.map(({ before }) => before),
    after: axes.map(({ after }) => after),
    out: axes.map(({ out }) => out),
  };
  checkTaps(windows);
  return windows;
}

/**
 * For every element of the kernel, in row-major order, which element of the input it meets in each window; -1
 * where that is padding.
 */
export function tapsOf(
  { spatial, kernel, strides, dilations, before, out }: Windows,
): Int32Array[] {
  let taps: number[][] = [[]];
  for (const size of kernel) {
    taps = taps.flatMap((tap) => upTo(size).map((k) => [...tap, k]));
  }
  return taps.map((tap) =>
    mappedPositions(
      spatial.map((size, axis) =>
        upTo(out[axis]).map((window) => {
          const at = window * strides[axis] + tap[axis] * dilations[axis] -
            before[axis];
          return at >= 0 && at < size ? at : -1;
        })
      ),
      stridesOf(spatial),
    )
  );
}
