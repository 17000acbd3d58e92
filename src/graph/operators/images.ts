import { describe, describeShape } from "../../base/describe.ts";
import {
  type ImageShape,
  imageShape,
  type ImageWindow,
  type Pair,
  transposedShape,
} from "../../tensor/image_shape.ts";
import type { CoordinateMode, NearestMode } from "../../tensor/resize_axis.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { ImageSize, Value } from "../operator.ts";
import { shapeOf } from "../row_layout.ts";

/** ONNX's attributes of a sliding window, with ONNX's defaults; a pair is height and width, or one number for both. */
export interface WindowAttributes {
  /** Pixels from one window to the next; default 1. */
  strides?: Pair;
  /** Pixels of zeros (of nothing, for poolings) at the top, left, bottom, right, or one number for all; default 0. */
  pads?: number | readonly [number, number, number, number];
  /** Pixels from one element of the window to the next; default 1. */
  dilations?: Pair;
}

/** ONNX's attributes of Conv. */
export interface ConvAttributes extends WindowAttributes {
  /** One number per output channel; default none. */
  bias?: Tensor;
  /** Groups of channels that see only each other; default 1, as many as channels in and out is depthwise. */
  group?: number;
}

/** ONNX's attributes of ConvTranspose. */
export interface ConvTransposeAttributes extends ConvAttributes {
  /** Lines and columns added at the bottom and the right; default 0. */
  outputPadding?: Pair;
}

/** ONNX's attributes of poolings. */
export interface PoolAttributes extends WindowAttributes {
  /** Height and width of the window, in pixels. */
  kernelShape: Pair;
  /**
   * Output lines and columns are rounded up instead of down, but for a last window that would begin in the padding behind
   * the image; default false.
   */
  ceilMode?: boolean;
}

/** Parameters of a BatchNormalization, [channels] each. */
export interface BatchNormWeights {
  /** What the normalised channel is multiplied by. */
  scale: Tensor;
  /** What is added then. */
  shift: Tensor;
  /** Running mean. */
  mean: Tensor;
  /** Running variance, at least 0. */
  variance: Tensor;
}

/** Images: ONNX's operators over rows that are [height][width][channels]. */
export interface ImageOperators {
  /** Convolution; weight [out, channels / group, kernel height, kernel width], bias [out]. */
  Conv(x: Value, weight: Tensor, attributes?: ConvAttributes): Value;
  /** Its transpose, an up-convolution; weight [channels, out / group, kernel height, kernel width], bias [out]. */
  ConvTranspose(
    x: Value,
    weight: Tensor,
    attributes?: ConvTransposeAttributes,
  ): Value;
  /**
   * In inference form: scale (x - mean) / sqrt(variance + epsilon) + shift. Folded into a convolution, transposed or
   * not, before it at no cost.
   * @param epsilon default 1e-5
   */
  BatchNormalization(
    x: Value,
    weights: BatchNormWeights,
    epsilon?: number,
  ): Value;
  /** The largest of each window. */
  MaxPool(x: Value, attributes: PoolAttributes): Value;
  /**
   * The mean of each window.
   * @param attributes countIncludePad: the padding counts in the divisor; default false
   */
  AveragePool(
    x: Value,
    attributes: PoolAttributes & { countIncludePad?: boolean },
  ): Value;
  /** The mean of every channel, as an image of one pixel. */
  GlobalAveragePool(x: Value): Value;
  /** The middle `height` x `width` pixels. Deviation: crops only; a larger size is refused. */
  CenterCropPad(x: Value, height: number, width: number): Value;
  /**
   * An image of `height` x `width` pixels, ONNX Resize of these axes.
   * @param attributes mode: default nearest
   */
  Resize(
    x: Value,
    height: number,
    width: number,
    attributes?: ResizeAttributes,
  ): Value;
  /** An image as a plain row in ONNX's order, [channels][height][width]. */
  Flatten(x: Value): Value;
  /** A row in ONNX's order, [channels][height][width], as an image. */
  Unflatten(x: Value, size: ImageSize): Value;
}

/** ONNX's attributes of Resize. */
export interface ResizeAttributes {
  /** Default nearest. */
  mode?: "nearest" | "linear";
  /** Default half_pixel. */
  coordinates?: CoordinateMode;
  /** Default round_prefer_floor. */
  nearestMode?: NearestMode;
  /** Of lines and columns, where they are not what the sizes say: ONNX's `scales`. */
  scales?: readonly [number, number];
}

const COORDINATES: readonly CoordinateMode[] = [
  "half_pixel",
  "asymmetric",
  "align_corners",
  "pytorch_half_pixel",
];
const NEAREST: readonly NearestMode[] = [
  "round_prefer_floor",
  "round_prefer_ceil",
  "floor",
  "ceil",
];

const WINDOW = ["strides", "pads", "dilations"];
const CONV = [...WINDOW, "bias", "group"];
const POOL = [...WINDOW, "kernelShape", "ceilMode"];
const RESIZE = ["mode", "coordinates", "nearestMode", "scales"];
const BATCH_NORM = ["scale", "shift", "mean", "variance"] as const;

export const imageOperators = (body: CellBody): ImageOperators => {
  const imageOf = (op: string, x: Value): ImageSize => {
    body.float(op, x);
    body.expect(
      x.image !== undefined,
      `${op} takes images, got a row of ${x.width}; declare the input as image(height, width, channels)`,
    );
    return x.image!;
  };

  /** The shape of a window over `x`, or what is wrong with it. */
  const shaped = (
    op: string,
    x: Value,
    rest: Omit<ImageWindow, keyof ImageSize | "stride" | "dilation" | "pads">,
    { strides = 1, dilations = 1, pads = 0 }: WindowAttributes,
    shape: (window: ImageWindow) => ImageShape = imageShape,
  ): ImageShape => {
    try {
      return shape({
        ...imageOf(op, x),
        ...rest,
        stride: strides,
        dilation: dilations,
        pads: typeof pads === "number" ? [pads, pads, pads, pads] : pads,
      });
    } catch (error) {
      if (!(error instanceof RangeError) || /^Cell "/.test(error.message)) {
        throw error;
      }
      throw new RangeError(
        `Cell "${body.cell}": ${op} of an image of ${
          shapeOf(x)
        }: ${error.message}`,
      );
    }
  };

  const result = ({ outHeight, outWidth, outChannels }: ImageShape): Value =>
    body.image({ height: outHeight, width: outWidth, channels: outChannels });

  const fourAxes = (op: string, weight: Tensor): void => {
    body.weight(`${op} weight`, weight);
    body.expect(
      weight.shape.length === 4,
      `${op} weight has shape ${
        describeShape(weight.shape)
      }, expected four axes`,
    );
  };

  return {
    Conv(x, weight, attributes = {}) {
      body.known("Conv", attributes, CONV);
      const { channels } = imageOf("Conv", x);
      fourAxes("Conv", weight);
      const { bias, group = 1 } = attributes;
      const [outChannels, , ...kernel] = weight.shape as [
        number,
        number,
        number,
        number,
      ];
      const shape = shaped(
        "Conv",
        x,
        { outChannels, kernel, groups: group },
        attributes,
      );
      body.shape("Conv weight", weight, [
        outChannels,
        channels / group,
        ...kernel,
      ]);
      if (bias) body.shape("Conv bias", bias, [outChannels]);
      return body.emit({
        op: "Conv",
        weight,
        ...(bias && { bias }),
        shape,
        inputs: [x],
        outputs: [result(shape)],
      });
    },

    ConvTranspose(x, weight, attributes = {}) {
      body.known("ConvTranspose", attributes, [...CONV, "outputPadding"]);
      const { channels } = imageOf("ConvTranspose", x);
      fourAxes("ConvTranspose", weight);
      const { bias, group = 1, outputPadding = 0 } = attributes;
      const [, perGroup, ...kernel] = weight.shape as [
        number,
        number,
        number,
        number,
      ];
      const shape = shaped(
        "ConvTranspose",
        x,
        { outChannels: perGroup * group, kernel, groups: group },
        attributes,
        (window) => transposedShape({ ...window, outputPadding }),
      );
      body.shape("ConvTranspose weight", weight, [
        channels,
        perGroup,
        ...kernel,
      ]);
      if (bias) body.shape("ConvTranspose bias", bias, [shape.outChannels]);
      return body.emit({
        op: "ConvTranspose",
        weight,
        ...(bias && { bias }),
        shape,
        inputs: [x],
        outputs: [result(shape)],
      });
    },

    BatchNormalization(x, weights, epsilon = 1e-5) {
      const size = imageOf("BatchNormalization", x);
      body.known("BatchNormalization", weights, BATCH_NORM);
      for (const name of BATCH_NORM) {
        body.shape(`BatchNormalization ${name}`, weights[name], [
          size.channels,
        ]);
      }
      const least = weights.variance.data.reduce((a, b) => Math.min(a, b));
      body.expect(
        Number.isFinite(epsilon) && least >= 0 && least + epsilon > 0,
        `BatchNormalization variance holds ${least}; variances are at least 0, and above it with epsilon (${
          describe(epsilon)
        })`,
      );
      return body.emit({
        op: "BatchNormalization",
        ...weights,
        epsilon,
        inputs: [x],
        outputs: [body.image(size)],
      });
    },

    MaxPool(x, attributes) {
      body.known("MaxPool", attributes, POOL);
      const { kernelShape: kernel, ceilMode: ceil = false } = attributes;
      const shape = shaped("MaxPool", x, { kernel, ceil }, attributes);
      return body.emit({
        op: "MaxPool",
        shape,
        inputs: [x],
        outputs: [result(shape)],
      });
    },

    AveragePool(x, attributes) {
      body.known("AveragePool", attributes, [...POOL, "countIncludePad"]);
      const {
        kernelShape: kernel,
        ceilMode: ceil = false,
        countIncludePad = false,
      } = attributes;
      const shape = shaped("AveragePool", x, { kernel, ceil }, attributes);
      return body.emit({
        op: "AveragePool",
        shape,
        countIncludePad,
        inputs: [x],
        outputs: [result(shape)],
      });
    },

    GlobalAveragePool(x) {
      const { height, width } = imageOf("GlobalAveragePool", x);
      const kernel = [height, width] as const;
      const shape = shaped("GlobalAveragePool", x, { kernel }, {});
      return body.emit({
        op: "GlobalAveragePool",
        shape,
        inputs: [x],
        outputs: [result(shape)],
      });
    },

    CenterCropPad(x, height, width) {
      const size = imageOf("CenterCropPad", x);
      const fits = (side: number, whole: number) =>
        Number.isInteger(side) && side >= 1 && side <= whole;
      body.expect(
        fits(height, size.height) && fits(width, size.width),
        `CenterCropPad of an image of ${shapeOf(x)} to ${describe(height)} x ${
          describe(width)
        }; ` +
          `it only crops: pad with a convolution's pads`,
      );
      return body.emit({
        op: "CenterCropPad",
        inputs: [x],
        outputs: [body.image({ height, width, channels: size.channels })],
      });
    },

    Resize(x, height, width, attributes = {}) {
      const size = imageOf("Resize", x);
      body.known("Resize", attributes, RESIZE);
      const {
        mode = "nearest",
        coordinates = "half_pixel",
        nearestMode = "round_prefer_floor",
        scales = [height / size.height, width / size.width],
      } = attributes;
      body.count("height of Resize", height);
      body.count("width of Resize", width);
      body.expect(
        ["nearest", "linear"].includes(mode) &&
          COORDINATES.includes(coordinates) &&
          NEAREST.includes(nearestMode) && scales.length === 2 &&
          scales.every((scale) => scale > 0 && Number.isFinite(scale)),
        `Resize by ${describe(scales)}, mode ${describe(mode)}, coordinates ${
          describe(coordinates)
        }, nearestMode ${describe(nearestMode)}`,
      );
      const axis = (input: number, output: number, scale: number) => ({
        input,
        output,
        scale,
        coordinates,
      });
      return body.emit({
        op: "Resize",
        mode,
        nearestMode,
        lines: axis(size.height, height, scales[0]),
        columns: axis(size.width, width, scales[1]),
        inputs: [x],
        outputs: [body.image({ height, width, channels: size.channels })],
      });
    },

    Unflatten(x, size) {
      body.float("Unflatten", x);
      const { height, width, channels } = size;
      body.expect(
        x.image === undefined && height * width * channels === x.width,
        `Unflatten of ${
          shapeOf(x)
        } elements to ${height} x ${width} x ${channels}`,
      );
      return body.emit({
        op: "Unflatten",
        inputs: [x],
        outputs: [body.image(size)],
      });
    },

    Flatten(x) {
      imageOf("Flatten", x);
      return body.emit({
        op: "Flatten",
        inputs: [x],
        outputs: [body.declare("f32", x.width)],
      });
    },
  };
};
