/** Convolutions of images smaller than their kernel: taps that only ever meet padding are left out. */
import { elementCount, type Tensor, tensor } from "../../tensor/tensor.ts";

/** How a window moves, both axes each. */
export interface Window {
  readonly strides: readonly [number, number];
  readonly dilations: readonly [number, number];
  /** Top, left, bottom, right. */
  readonly pads: readonly [number, number, number, number];
}

/**
 * @param weight [outputs][channels][height][width]
 * @returns the same convolution with fewer taps, where there are such at the edges of its kernel; what they add is
 * zero times a number, so that a weight which is none stays
 */
export function trimTaps(
  weight: Tensor,
  window: Window,
  { height, width }: { height: number; width: number },
): { weight: Tensor; window: Window } {
  const { pads: [top, left, bottom, right], strides, dilations } = window;
  const [, , kernelHeight, kernelWidth] = weight.shape;
  const rows = usedTaps({
    ...{ size: height, kernel: kernelHeight, before: top, behind: bottom },
    ...{ stride: strides[0], dilation: dilations[0] },
  });
  const columns = usedTaps({
    ...{ size: width, kernel: kernelWidth, before: left, behind: right },
    ...{ stride: strides[1], dilation: dilations[1] },
  });
  const isWhole = rows.count === kernelHeight && columns.count === kernelWidth;
  if (isWhole || !weight.data.every(Number.isFinite)) return { weight, window };
  return {
    weight: cropped(weight, rows, columns),
    window: {
      ...window,
      pads: [rows.before, columns.before, rows.behind, columns.behind],
    },
  };
}

interface Taps {
  /** The first one that stays, and how many do. */
  readonly first: number;
  readonly count: number;
  /** Padding that is left. */
  readonly before: number;
  readonly behind: number;
}

/** Taps of one axis without those at both ends that meet no element at any place of the window. */
function usedTaps(
  { size, kernel, before, behind, stride, dilation }: {
    size: number;
    kernel: number;
    before: number;
    behind: number;
    stride: number;
    dilation: number;
  },
): Taps {
  const reach = (kernel - 1) * dilation + 1;
  const places = Math.floor((size + before + behind - reach) / stride) + 1;
  const isUsed = (tap: number) => {
    for (let i = 0; i < places; i++) {
      const at = i * stride + tap * dilation - before;
      if (at >= 0 && at < size) return true;
    }
    return false;
  };
  let [first, end] = [0, kernel];
  let [left, right] = [before, behind];
  // One stays where all of it is padding.
  while (end - first > 1 && left >= dilation && !isUsed(first)) {
    first++;
    left -= dilation;
  }
  while (end - first > 1 && right >= dilation && !isUsed(end - 1)) {
    end--;
    right -= dilation;
  }
  return { first, count: end - first, before: left, behind: right };
}

function cropped({ shape, data }: Tensor, rows: Taps, columns: Taps): Tensor {
  const [outputs, channels, height, width] = shape;
  const sizes = [outputs, channels, rows.count, columns.count];
  const kept = new Float32Array(elementCount(sizes));
  let to = 0;
  for (let plane = 0; plane < outputs * channels; plane++) {
    for (let y = rows.first; y < rows.first + rows.count; y++) {
      const from = (plane * height + y) * width + columns.first;
      for (let x = 0; x < columns.count; x++) kept[to++] = data[from + x];
    }
  }
  return tensor(sizes, kept);
}
