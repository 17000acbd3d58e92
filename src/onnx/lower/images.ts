/** Convolutions and pooling: over images [1][channels][height][width] and signals [1][channels][width]. */
import type { Value } from "../../graph/operator.ts";
import type { WindowAttributes } from "../../graph/operators/images.ts";
import { elementCount, type Tensor, tensor } from "../../tensor/tensor.ts";
import { fourierConv } from "./fourier_conv.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { MADE_ELEMENTS_MAX, type Operand } from "./operand.ts";
import { trimTaps, type Window } from "./trim_taps.ts";

type Four = [number, number, number, number];

/** Sizes of a window's sides as height and width; a signal is an image of one line. */
function sides(given: readonly number[]): [number, number] {
  return [1, 1, ...given].slice(-2) as [number, number];
}

/** ONNX has beginnings of all axes, then ends: top, left, bottom, right. */
function fourPads(given: readonly number[]): Four {
  return given.length === 4
    ? [...given] as unknown as Four
    : [0, given[0], 0, given[1]];
}

/** Whether an operand is an image or a signal of floats, of which channels alone are not all. */
function isSpatial({ rank, imageSize }: Operand): boolean {
  return rank >= 3 && imageSize !== undefined;
}

/** Strides, pads and dilations, `auto_pad` among them. */
export function windowOf(
  view: LoweredNode,
  kernel: readonly number[],
): Window | undefined {
  const { dims } = view.operand();
  const ones = kernel.map(() => 1);
  const strides = view.ints("strides") ?? ones;
  const dilations = view.ints("dilations") ?? ones;
  const rest = { strides: sides(strides), dilations: sides(dilations) };
  const mode = view.text("auto_pad", "NOTSET");
  if (mode === "NOTSET") {
    const given = view.ints("pads") ?? [...ones, ...ones].map(() => 0);
    return given.every((pad) => pad >= 0)
      ? { ...rest, pads: fourPads(given) }
      : undefined;
  }
  if (mode === "VALID") return { ...rest, pads: [0, 0, 0, 0] };
  if (mode !== "SAME_UPPER" && mode !== "SAME_LOWER") return undefined;
  const totals = kernel.map((size, i) => {
    const input = dims[2 + i];
    const windows = Math.ceil(input / strides[i]);
    return Math.max(
      0,
      (windows - 1) * strides[i] + (size - 1) * dilations[i] + 1 - input,
    );
  });
  const less = totals.map((total) => Math.floor(total / 2));
  const more = totals.map((total) => Math.ceil(total / 2));
  const pads = mode === "SAME_UPPER" ? [...less, ...more] : [...more, ...less];
  return { ...rest, pads: fourPads(pads) };
}

/** Sizes of a weight with two sides. */
export function fourSides(shape: readonly number[]): readonly number[] {
  return shape.length === 4 ? shape : [shape[0], shape[1], 1, shape[2]];
}

function fourAxes({ shape, data }: Tensor): Tensor {
  return tensor(fourSides(shape), data);
}

const conv: NodeLowering = (view) => {
  const x = view.operand();
  const weight = view.weight(1);
  if (!isSpatial(x) || !view.isWeight(1) || !view.isWeight(2) || !weight) {
    return undefined;
  }
  const given = windowOf(view, weight.shape.slice(2));
  if (!given) return undefined;
  const spectra = view.has(2)
    ? undefined
    : fourierConv(view.op, x, weight, given);
  if (spectra) return spectra;
  const bias = view.weight(2) ?? view.takeBias(1);
  const { weight: taps, window } = trimTaps(
    fourAxes(weight),
    given,
    x.imageSize!,
  );
  return view.op.Conv(x.image, taps, {
    ...window,
    group: view.int("group", 1),
    ...(bias && { bias }),
  });
};

const convTranspose: NodeLowering = (view) => {
  const x = view.operand();
  const weight = view.weight(1);
  const isGiven = view.text("auto_pad", "NOTSET") === "NOTSET" &&
    view.ints("output_shape") === undefined;
  if (!isSpatial(x) || !weight || !view.isWeight(2) || !isGiven) {
    return undefined;
  }
  const window = windowOf(view, weight.shape.slice(2));
  if (!window) return undefined;
  const bias = view.weight(2) ?? view.takeBias(1);
  const extra = view.ints("output_padding");
  const isSignal = weight.shape.length === 3;
  return view.op.ConvTranspose(x.image, fourAxes(weight), {
    ...window,
    group: view.int("group", 1),
    ...(extra && {
      outputPadding: isSignal ? [0, extra[0]] : sides(extra),
    }),
    ...(bias && { bias }),
  });
};

const batchNormalization: NodeLowering = (view) => {
  const x = view.operand();
  const weights = [1, 2, 3, 4].map((i) => view.weight(i));
  if (
    x.imageSize === undefined || view.wants(1) ||
    view.int("training_mode", 0) !== 0 || view.int("spatial", 1) !== 1
  ) return undefined;
  const [scale, shift, mean, variance] = weights;
  if (!scale || !shift || !mean || !variance) return undefined;
  return view.op.BatchNormalization(
    x.image,
    { scale, shift, mean, variance },
    view.float("epsilon", 1e-5),
  );
};

/** Pooling as long as as many windows come out as ONNX says: with pads of its own choice it rounds nothing up. */
function pool(
  make: (
    view: LoweredNode,
    attributes: Required<WindowAttributes> & {
      kernelShape: [number, number];
      ceilMode: boolean;
    },
  ) => Value,
): NodeLowering {
  return (view) => {
    const kernel = view.ints("kernel_shape");
    if (!kernel || view.wants(1) || !isSpatial(view.operand())) {
      return undefined;
    }
    const window = windowOf(view, kernel);
    if (!window) return undefined;
    const made = make(view, {
      ...window,
      kernelShape: sides(kernel),
      ceilMode: view.int("ceil_mode", 0) !== 0,
    });
    return made.width === elementCount(view.dims()) ? made : undefined;
  };
}

/**
 * Across neighbouring channels: squares are summed by a convolution of one pixel, and the power is taken apart into
 * square roots where it is 1/4, 1/2, 3/4 or 1.
 */
const localResponse: NodeLowering = (view) => {
  const x = view.operand();
  const size = view.int("size", 1);
  const quarters = view.float("beta", 0.75) * 4;
  if (!isSpatial(x) || ![1, 2, 3, 4].includes(quarters)) return undefined;
  const { op } = view;
  const [, channels] = x.dims;
  if (channels ** 2 > MADE_ELEMENTS_MAX) return undefined;
  const before = Math.floor((size - 1) / 2);
  const weight = new Float32Array(channels * channels);
  for (let to = 0; to < channels; to++) {
    const first = Math.max(0, to - before);
    const last = Math.min(channels - 1, to - before + size - 1);
    for (let from = first; from <= last; from++) {
      weight[to * channels + from] = view.float("alpha", 1e-4) / size;
    }
  }
  const bias = new Float32Array(channels).fill(view.float("bias", 1));
  const sum = op.Conv(
    op.Mul(x.image, x.image),
    tensor([channels, channels, 1, 1], weight),
    { bias: tensor([channels], bias) },
  );
  if (quarters === 4) return op.Div(x.image, sum);
  const half = op.Sqrt(sum);
  if (quarters === 2) return op.Div(x.image, half);
  const quarter = op.Sqrt(half);
  return op.Div(x.image, quarters === 1 ? quarter : op.Mul(half, quarter));
};

export const IMAGES: Readonly<Record<string, NodeLowering>> = {
  Conv: conv,
  ConvTranspose: convTranspose,
  BatchNormalization: batchNormalization,
  LRN: localResponse,
  MaxPool: pool((view, attributes) =>
    view.op.MaxPool(view.operand().image, attributes)
  ),
  AveragePool: pool((view, attributes) =>
    view.op.AveragePool(view.operand().image, {
      ...attributes,
      countIncludePad: view.int("count_include_pad", 0) !== 0,
    })
  ),
  GlobalAveragePool: (view) =>
    isSpatial(view.operand())
      ? view.op.GlobalAveragePool(view.operand().image)
      : undefined,
  GlobalMaxPool: (view) => {
    const x = view.operand();
    if (!isSpatial(x)) return undefined;
    const { height, width } = x.imageSize!;
    return view.op.MaxPool(x.image, { kernelShape: [height, width] });
  },
};
