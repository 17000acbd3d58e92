/**
 * MobileNet v1: depthwise separable convolutions, a 3x3 one of every channel by itself and a 1x1 one.
 * Source: Howard, Zhu, Chen et al.: MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
 * Applications (arXiv:1704.04861, 2017), table 1 and Fig. 3 right; table 4 has 4.2 million parameters and 569
 * million multiply-adds. A cell is one layer with its BatchNormalization and ReLU.
 *
 * Assumption: the last depthwise convolution strides by 1, as the sizes around it need and the authors' code has
 * it; table 1 says 2. Where a stride leaves a pixel over, padding is at the bottom and the right, as in their code
 * (TensorFlow's "SAME").
 */
import type { Model } from "../graph/model.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkOptions, checkSize, checkSizes } from "./checks.ts";
import type { ImageInput } from "./conv_cell.ts";
import { type FeatureMap, ImageNetwork } from "./image_network.ts";

/** Of the authors' code (TensorFlow models, slim/nets/mobilenet_v1.py). */
const EPSILON = 1e-3;

const KERNEL = 3;

/** Sizes are positive integers. */
export interface MobileNetOptions {
  /** Height and width of the images; default 224. */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of the first convolution; they double with every stage. Default 32 (the width multiplier 1). */
  width?: number;
  /** Separable convolutions of each stage, of which all but the first halve the image; default [1, 2, 2, 6, 2]. */
  blocks?: readonly number[];
  /** Classes of the classifier; default 1000. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const MOBILENET_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "classes",
] as const satisfies readonly (keyof MobileNetOptions)[];

/**
 * MobileNet v1: depthwise separable convolutions. A cell is a convolution together with its BatchNormalization and
 * ReLU.
 * Source: Howard, Zhu, Chen et al.: MobileNets (arXiv:1704.04861, 2017), table 1.
 *
 * Results: `logits` [classes].
 *
 * Cells: `conv1`, `dw1`, `pw1`, ..., `dw13`, `pw13`, `pool`, `fc`. Tensors have the names of Keras's layers with
 * torchvision's endings and layouts: `conv1.weight`, `conv1_bn.running_mean`, `conv_dw_1.weight` [channels, 1, 3, 3],
 * `conv_pw_1.weight` [out, channels, 1, 1], ..., `conv_preds.bias`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { mobilenet } from "@shoal/core";
 *
 * const model = mobilenet({ size: 32, width: 2, classes: 10 });
 * assert.equal(model.cells.length, 1 + 2 * 13 + 2);
 * ```
 */
export function mobilenet(
  options: MobileNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  const name = "mobilenet";
  checkOptions(name, options, MOBILENET_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 224);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? 32);
  const classes = checkSize(name, "classes", options.classes ?? 1000);
  const blocks = checkSizes(
    name,
    "blocks",
    options.blocks ?? [1, 2, 2, 6, 2],
    "the separable convolutions of each stage",
  );
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );

  const convolution = (
    cell: string,
    tensors: string,
    x: FeatureMap,
    options: {
      out: number;
      kernel: number;
      stride?: number;
      channels?: "depthwise";
    },
  ) =>
    network.convolution(cell, x, {
      ...options,
      pads: samePads(x, options.kernel, options.stride ?? 1),
      conv: tensors,
      norm: `${tensors}_bn`,
      epsilon: EPSILON,
    });
  let top = convolution("conv1", "conv1", network.input, {
    out: width,
    kernel: KERNEL,
    stride: 2,
  });
  let separable = 0;
  blocks.forEach((count, s) => {
    for (let b = 0; b < count; b++) {
      separable++;
      const each = convolution(`dw${separable}`, `conv_dw_${separable}`, top, {
        out: top.channels,
        kernel: KERNEL,
        stride: b === 0 && s > 0 ? 2 : 1,
        channels: "depthwise",
      });
      top = convolution(`pw${separable}`, `conv_pw_${separable}`, each, {
        out: width * 2 ** (s + 1),
        kernel: 1,
      });
    }
  });
  const fc = { units: classes, tensors: "conv_preds", linear: true };
  return network.model(network.dense("fc", network.means("pool", top), fc));
}

/** TensorFlow's "SAME": as many windows as strides, the padding's odd line and column at the end. */
function samePads(
  { height, width }: FeatureMap,
  kernel: number,
  stride: number,
): [number, number, number, number] {
  const total = (side: number) =>
    Math.max(0, (Math.ceil(side / stride) - 1) * stride + kernel - side);
  const [down, right] = [total(height), total(width)];
  const before = (pads: number) => Math.floor(pads / 2);
  return [
    ...[before(down), before(right)] as const,
    ...[down - before(down), right - before(right)] as const,
  ];
}
