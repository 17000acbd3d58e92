/**
 * VGG-16 and VGG-19: stages of 3x3 convolutions, each stage with a 2x2 max pooling behind it, and three fully
 * connected layers over all of the last map.
 * Source: Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (ICLR 2015),
 * section 2 and table 1, configurations D and E. Dropout is for training alone. A cell is one layer with its
 * ReLU (LazyBatching's node is a layer).
 */
import type { Model } from "../graph/model.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkOptions, checkSize, checkSizes } from "./checks.ts";
import type { ImageInput } from "./conv_cell.ts";
import { ImageNetwork } from "./image_network.ts";

/** Table 1: convolutions of each stage. */
const DEPTHS = {
  vgg16: [2, 2, 3, 3, 3],
  vgg19: [2, 2, 4, 4, 4],
} as const;

/** Channels of a stage, at most, over those of the first one. */
const WIDENING_MAX = 8;

/** Sizes are positive integers. */
export interface VggOptions {
  /** Height and width of the images; default 224. Every stage halves them, rounding down. */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of the first stage; they double with every stage up to eight times as many. Default 64. */
  width?: number;
  /** Convolutions of each stage; default [2, 2, 3, 3, 3], [2, 2, 4, 4, 4] of VGG-19. */
  blocks?: readonly number[];
  /** Units of the two hidden layers, fc6 and fc7; default 4096. */
  hidden?: number;
  /** Classes of the classifier; default 1000. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const VGG_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "hidden",
  "classes",
] as const satisfies readonly (keyof VggOptions)[];

/**
 * VGG-16 (configuration D), or another network of its kind: stages of 3x3 convolutions, each with a 2x2 max pooling
 * behind it, and three fully connected layers. A cell is one layer with its ReLU.
 * Source: Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (ICLR 2015), section
 * 2 and table 1.
 *
 * Results: `logits` [classes].
 *
 * Cells: `conv1_1`, `conv1_2`, `pool1`, ..., `pool5`, `fc6`, `fc7`, `fc8`. Tensors have torchvision's names and layouts
 * (`features.0.weight`, ..., `classifier.6.bias`), so that its weights fit as they are; images are
 * [height][width][channels] here.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { vgg16 } from "@shoal/core";
 *
 * const model = vgg16({ size: 32, width: 2, hidden: 8, classes: 10 });
 * assert.equal(model.cells.length, 13 + 5 + 3);
 * ```
 */
export function vgg16(
  options: VggOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  return vgg("vgg16", options);
}

/**
 * VGG-19 (configuration E): as `vgg16`, with four convolutions in each of the last three stages.
 * Source: Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (ICLR 2015), section
 * 2 and table 1.
 *
 * Results, cells and tensors: see `vgg16`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { vgg19 } from "@shoal/core";
 *
 * const { cells } = vgg19({ size: 32, width: 2, hidden: 8, classes: 10 });
 * assert(cells.some(({ name }) => name === "conv5_4"));
 * ```
 */
export function vgg19(
  options: VggOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  return vgg("vgg19", options);
}

function vgg(
  name: keyof typeof DEPTHS,
  options: VggOptions,
): Model<ImageInput, { logits: "f32" }> {
  checkOptions(name, options, VGG_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 224);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? 64);
  const hidden = checkSize(name, "hidden", options.hidden ?? 4096);
  const classes = checkSize(name, "classes", options.classes ?? 1000);
  const blocks = checkSizes(
    name,
    "blocks",
    options.blocks ?? DEPTHS[name],
    "the convolutions of each stage",
  );
  if (size < 2 ** blocks.length) {
    throw new RangeError(
      `"size" of model "${name}" is at least ${
        2 ** blocks.length
      }, which ${blocks.length} poolings halve to one pixel, got ${size}`,
    );
  }
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );

  let top = network.input;
  // torchvision numbers the ReLU of a convolution and the poolings, too.
  let feature = 0;
  blocks.forEach((count, s) => {
    for (let i = 0; i < count; i++) {
      top = network.convolution(`conv${s + 1}_${i + 1}`, top, {
        out: width * Math.min(2 ** s, WIDENING_MAX),
        kernel: 3,
        conv: `features.${feature}`,
      });
      feature += 2;
    }
    top = network.maxPool(`pool${s + 1}`, top, { kernelShape: 2, strides: 2 });
    feature++;
  });

  const fc6 = network.dense("fc6", top, {
    units: hidden,
    tensors: "classifier.0",
  });
  const fc7 = network.dense("fc7", fc6, {
    units: hidden,
    tensors: "classifier.3",
  });
  const fc8 = network.dense("fc8", fc7, {
    units: classes,
    tensors: "classifier.6",
    linear: true,
  });
  return network.model(fc8);
}
