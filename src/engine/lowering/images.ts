import { convEpilogue, isDepthwise } from "../../graph/conv_epilogue.ts";
import type {
  ImageOperator,
  ImageSize,
  OperatorOf,
  Value,
} from "../../graph/operator.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { ACTIVATIONS } from "../../kernels/module/activations.ts";
import {
  convScratchBytes,
  shapeWords,
} from "../../kernels/pack/image_words.ts";
import {
  type ConvWeights,
  foldBatchNorm,
  packConv,
  packConvTranspose,
  packDepthwise,
} from "../../kernels/pack/pack_conv.ts";
import {
  resizeLinear,
  resizeNearest,
} from "../../kernels/pack/resize_tables.ts";
import { type ImageShape, imageShape } from "../../tensor/image_shape.ts";
import type { ResizeAxis } from "../../tensor/resize_axis.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import type { TableRef } from "./cell_program.ts";
import { FUSED } from "./elementwise.ts";
import type { Lowering, Lowerings } from "./lowering.ts";

export const images: Lowerings<ImageOperator> = {
  Conv: lowerConv,
  ConvTranspose: lowerConv,

  /** By itself it is a depthwise convolution of one tap. */
  BatchNormalization(operator, lowering) {
    const { height, width, channels } = operator.inputs[0].image!;
    const ones = new Float32Array(channels).fill(1);
    const shape = imageShape({
      height,
      width,
      channels,
      kernel: 1,
      groups: channels,
    });
    const weights = folded({ weight: ones }, operator);
    const { result, act } = takeEpilogue(operator, lowering);
    lowering.kernel("depthwise_f32", [
      "rows",
      lowering.place(shapeWords(shape)),
      lowering.tableOf(operator.inputs[0]),
      lowering.place(packDepthwise(shape, weights)),
      lowering.output(result),
      act,
    ]);
  },

  MaxPool({ shape, inputs, outputs }, lowering) {
    lowering.kernel("pool_max_f32", [
      "rows",
      lowering.place(shapeWords(shape)),
      lowering.tableOf(inputs[0]),
      lowering.output(outputs[0]),
    ]);
  },

  AveragePool: lowerAverage,
  GlobalAveragePool: lowerAverage,

  CenterCropPad({ inputs, outputs }, lowering) {
    const from = inputs[0].image!;
    const to = outputs[0].image!;
    const top = Math.floor((from.height - to.height) / 2);
    const left = Math.floor((from.width - to.width) / 2);
    const skipped = (top * from.width + left) * from.channels;
    copyPixels(
      lowering,
      lowering.offset(
        lowering.tableOf(inputs[0]),
        skipped * BYTES_PER_ELEMENT,
      ),
      from,
      lowering.output(outputs[0]),
      to,
    );
  },

  Resize(operator, lowering) {
    const { mode, lines, columns, nearestMode, inputs: [x], outputs } =
      operator;
    const { height, width, channels } = x.image!;
    const table = (axis: ResizeAxis) =>
      lowering.place(
        mode === "linear"
          ? resizeLinear(axis)
          : resizeNearest(axis, nearestMode),
      );
    lowering.kernel(
      mode === "linear" ? "resize_linear_f32" : "resize_nearest_f32",
      [
        "rows",
        ...[height, width, channels, lines.output, columns.output],
        lowering.tableOf(x),
        ...[table(lines), table(columns)],
        lowering.output(outputs[0]),
      ],
    );
  },

  Flatten({ inputs: [x], outputs }, lowering) {
    const { height, width, channels } = x.image!;
    turn(x, outputs[0], [height * width, channels], lowering);
  },

  Unflatten({ inputs: [x], outputs }, lowering) {
    const { height, width, channels } = outputs[0].image!;
    turn(x, outputs[0], [channels, height * width], lowering);
  },
};

/** [height][width] as [width][height]; a view where that is the same. */
function turn(
  x: Value,
  y: Value,
  [height, width]: readonly [number, number],
  lowering: Lowering,
): void {
  const from = lowering.tableOf(x);
  if (height === 1 || width === 1) return lowering.lies(y, from);
  lowering.kernel("transpose_rows_f32", [
    "rows",
    height,
    width,
    from,
    lowering.output(y),
  ]);
}

/** Concat of images: every part goes to its channels of every pixel. */
export function stackImages(
  parts: readonly Value[],
  out: Value,
  lowering: Lowering,
): void {
  const to = lowering.output(out);
  let before = 0;
  for (const part of parts) {
    copyPixels(
      lowering,
      lowering.tableOf(part),
      part.image!,
      lowering.offset(to, before * BYTES_PER_ELEMENT),
      out.image!,
    );
    before += part.image!.channels;
  }
}

/** Copies as many lines, columns and channels as both images have. */
function copyPixels(
  lowering: Lowering,
  from: TableRef,
  fromSize: ImageSize,
  to: TableRef,
  toSize: ImageSize,
): void {
  const lines = Math.min(fromSize.height, toSize.height);
  const columns = Math.min(fromSize.width, toSize.width);
  const channels = Math.min(fromSize.channels, toSize.channels);
  const pixelOf = ({ channels }: ImageSize) => channels * BYTES_PER_ELEMENT;
  const lineOf = (size: ImageSize) => size.width * pixelOf(size);
  // Pixels that are neighbours on both sides are copied in one piece.
  const whole = fromSize.channels === toSize.channels;
  const piece = channels * BYTES_PER_ELEMENT;
  lowering.kernel("copy_blocks", [
    "rows",
    lines,
    whole ? 1 : columns,
    whole ? columns * piece : piece,
    lineOf(fromSize),
    pixelOf(fromSize),
    lineOf(toSize),
    pixelOf(toSize),
    from,
    to,
  ]);
}

function lowerConv(
  operator: OperatorOf<"Conv" | "ConvTranspose">,
  lowering: Lowering,
): void {
  const { shape, weight, bias } = operator;
  const { batchNorm, residual, result, act } = takeEpilogue(
    operator,
    lowering,
  );
  const plain = { weight: weight.data, ...(bias && { bias: bias.data }) };
  const transposed = operator.op === "ConvTranspose";
  const weights = batchNorm
    ? folded(plain, batchNorm, transposed ? shape : undefined)
    : plain;
  const words = lowering.place(shapeWords(shape));
  const from = lowering.tableOf(operator.inputs[0]);
  if (operator.op === "Conv" && isDepthwise(shape)) {
    lowering.kernel("depthwise_f32", [
      "rows",
      words,
      from,
      lowering.place(packDepthwise(shape, weights)),
      lowering.output(result),
      act,
    ]);
    return;
  }
  const pack = transposed ? packConvTranspose : packConv;
  lowering.kernel(transposed ? "conv_transpose_f32" : "conv_f32", [
    "rows",
    words,
    from,
    lowering.place(pack(shape, weights)),
    residual ? lowering.tableOf(residual) : 0,
    lowering.output(result),
    act,
    { scratch: lowering.scratch(alignUp(convScratchBytes(shape))) },
  ]);
}

/** The operator's epilogue, whose operators then become no calls of their own. */
function takeEpilogue(
  operator: OperatorOf<"Conv" | "ConvTranspose" | "BatchNormalization">,
  lowering: Lowering,
) {
  const { absorbed, activation, ...rest } = convEpilogue(operator, lowering);
  for (const taken of absorbed) lowering.fuse(taken);
  return {
    ...rest,
    act: ACTIVATIONS[activation ? FUSED[activation] : "none"],
  };
}

function folded(
  weights: ConvWeights,
  { scale, shift, mean, variance, epsilon }: OperatorOf<"BatchNormalization">,
  transposed?: ImageShape,
): Required<ConvWeights> {
  const norm = {
    scale: scale.data,
    shift: shift.data,
    mean: mean.data,
    variance: variance.data,
    epsilon,
  };
  return foldBatchNorm(weights, norm, transposed);
}

function lowerAverage(
  operator: OperatorOf<"AveragePool" | "GlobalAveragePool">,
  lowering: Lowering,
): void {
  const { shape, inputs, outputs } = operator;
  lowering.kernel("pool_average_f32", [
    "rows",
    lowering.place(shapeWords(shape)),
    operator.op === "AveragePool" && operator.countIncludePad ? 1 : 0,
    lowering.tableOf(inputs[0]),
    lowering.output(outputs[0]),
  ]);
}
