/**
 * Convolutions with what convEpilogue() lets them do on the way, pooling, moves of pixels.
 * BatchNormalization behind a convolution is part of its weights; by itself it costs a product and a
 * sum per element.
 */
import { convEpilogue } from "../../graph/conv_epilogue.ts";
import type {
  Activation,
  ImageOperator,
  OperatorOf,
} from "../../graph/operator.ts";
import type { ImageShape } from "../../tensor/image_shape.ts";
import type { GemmWork, LayerSpec } from "../layer_spec.ts";
import {
  type ActivationName,
  conv,
  convVector,
  PASSES,
  pool,
} from "../layers.ts";
import { type CostContext, type Costs, vectorLayer } from "./costs.ts";
import { onVector } from "./elementwise.ts";

const ACTIVATION_NAMES: Readonly<Record<Activation, ActivationName>> = {
  Relu: "relu",
  Sigmoid: "sigmoid",
  Tanh: "tanh",
  Gelu: "gelu",
  GeluTanh: "gelu",
  Swish: "swish",
};

/** A convolution's sizes. */
export function convSizes(shape: ImageShape) {
  return {
    channelsIn: shape.channels,
    channelsOut: shape.outChannels,
    height: shape.height,
    width: shape.width,
    filter: shape.kernel,
    stride: shape.stride,
    padding: shape.pads,
    dilation: shape.dilation,
    groups: shape.groups,
  };
}

export const images: Costs<ImageOperator> = {
  Conv(operator, context) {
    const { shape } = operator;
    return [conv(context.name, {
      ...convSizes(shape),
      ...epilogueOptions(operator, context),
    }, context.rows)];
  },

  ConvTranspose(operator, context) {
    const { name, rows } = context;
    const { outHeight, outWidth, outChannels } = operator.shape;
    const options = epilogueOptions(operator, context);
    const outputs = rows * outHeight * outWidth * outChannels;
    return [{
      name,
      gemms: phaseGemms(operator.shape, rows),
      vector: convVector(outputs, options),
      extraReadWords: options.residual ? outputs : 0,
      extraWriteWords: 0,
    }];
  },

  BatchNormalization: onVector(PASSES.mul + PASSES.add),
  MaxPool: poolLayers,
  AveragePool: poolLayers,
  GlobalAveragePool: poolLayers,
  /** Two pixels a side are weighted, if linear. */
  Resize: ({ mode, outputs }, { name, rows }) => [
    vectorLayer(name, [{
      name: "resize",
      elements: rows * outputs[0].width,
      passes: mode === "linear" ? 4 * PASSES.mul + 3 * PASSES.add : 1,
    }]),
  ],
  CenterCropPad: () => [],
  Flatten: () => [],
  Unflatten: () => [],
};

function epilogueOptions(
  operator: OperatorOf<"Conv" | "ConvTranspose">,
  { uses, absorb }: CostContext,
): { activation: ActivationName; residual: boolean } {
  const { activation, residual, absorbed } = convEpilogue(operator, uses);
  absorbed.forEach(absorb);
  return {
    activation: activation ? ACTIVATION_NAMES[activation] : "none",
    residual: residual !== undefined,
  };
}

/** Output pixels whose places agree modulo the strides see the same taps: a convolution per such phase. */
function phaseGemms(shape: ImageShape, batch: number): GemmWork[] {
  const { height, width, channels, outChannels, groups, pads } = shape;
  const axis = (side: 0 | 1, out: number, pad: number) =>
    Array.from({ length: shape.stride[side] }, (_, phase) => {
      const stride = shape.stride[side];
      const first = ((phase - pad) % stride + stride) % stride;
      return {
        taps: Array.from({ length: shape.kernel[side] }, (_, k) => k)
          .filter((k) => k * shape.dilation[side] % stride === phase).length,
        outputs: first < out ? Math.floor((out - 1 - first) / stride) + 1 : 0,
      };
    }).filter(({ taps, outputs }) => taps > 0 && outputs > 0);
  const columns = axis(1, shape.outWidth, pads[1]);
  return axis(0, shape.outHeight, pads[0]).flatMap((down) =>
    columns.map((right): GemmWork => ({
      gemm: {
        m: batch * down.outputs * right.outputs,
        n: outChannels / groups,
        k: down.taps * right.taps * channels / groups,
      },
      copies: groups,
      window: {
        batch,
        height,
        width,
        channels: channels / groups,
        filterH: down.taps,
        filterW: right.taps,
        strideH: 1,
        strideW: 1,
        outputH: down.outputs,
        outputW: right.outputs,
      },
    }))
  );
}

function poolLayers(
  { shape }: OperatorOf<"MaxPool" | "AveragePool" | "GlobalAveragePool">,
  { name, rows }: CostContext,
): LayerSpec[] {
  const { height, width, channels, kernel, stride, dilation } = shape;
  const [top, left, bottom, right] = shape.pads;
  // Where outputs are rounded up, the last window hangs over the edge.
  const over = (outputs: number, size: number, side: 0 | 1) =>
    Math.max(
      0,
      (outputs - 1) * stride[side] + (kernel[side] - 1) * dilation[side] + 1 -
        size,
    );
  return [pool(name, {
    channels,
    height,
    width,
    filter: kernel,
    stride,
    dilation,
    padding: [
      top,
      left,
      bottom + over(shape.outHeight, height + top + bottom, 0),
      right + over(shape.outWidth, width + left + right, 1),
    ],
  }, rows)];
}
