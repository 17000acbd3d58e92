/**
 * LinkNet: ResNet-18 without its classifier as encoder, and a decoder of as many blocks, each of which adds what
 * the encoder had at its size.
 * Source: Chaurasia, Culurciello: LinkNet: Exploiting Encoder Representations for Efficient Semantic Segmentation
 * (VCIP 2017, arXiv:1707.03718), Figs. 1 and 2: 11.5 million parameters; the authors' PyTorch code
 * (e-lab/pytorch-linknet, models/linknet.py) for what figures leave open: pads, biases, and that the first block's
 * sum is with the pooled map. DVABatch (section 8.1) cites it and gives no image size. A cell is one layer with its
 * BatchNormalization, ReLU and sum.
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
import { residualStages, residualStem } from "./residual_stages.ts";

/** Sizes are positive integers. */
export interface LinkNetOptions {
  /**
   * Height and width of the images, which the stem and every stage but the first halve evenly; default 512.
   * Assumption: the height of the Cityscapes images (1024 x 512) of section IV, made square.
   */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of the first stage; they double with every stage. Default 64. */
  width?: number;
  /** Residual blocks of each stage of the encoder; default [2, 2, 2, 2], ResNet-18. */
  blocks?: readonly number[];
  /** Classes of a pixel; default 21, as in the authors' code. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const LINKNET_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "classes",
] as const satisfies readonly (keyof LinkNetOptions)[];

/**
 * LinkNet: ResNet-18 as encoder, and a decoder of as many blocks, each of which adds what the encoder had at its size.
 * A cell is one layer with its BatchNormalization, ReLU and sum.
 * Source: Chaurasia, Culurciello: LinkNet: Exploiting Encoder Representations for Efficient Semantic Segmentation (VCIP
 * 2017), Figs. 1 and 2.
 *
 * Results: `logits` [size][size][classes].
 *
 * Cells: `conv1`, `pool1`, `s2.0.c1`, `s2.0.c2`, ..., `s3.0.down`, ... as of `resnet50`, then `d4.c1`, `d4.up`, `d4.c2`,
 * ..., `d1.c2`, `up1`, `conv2`, `up2`. Tensors of the encoder have torchvision's names and layouts (`conv1.weight`,
 * `layer1.0.bn2.running_mean`, ...), those of the decoder the authors': `decoder4.conv1.0.weight`,
 * `decoder4.tp_conv.1.running_var`, ..., `tp_conv2.bias`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs, the next size that
 * fits for a size that does not
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { linknet } from "@shoal/core";
 *
 * const model = linknet({ size: 32, width: 4, classes: 2 });
 * assert.deepEqual(model.cells.at(-1)?.outputs[0].image, { height: 32, width: 32, channels: 2 });
 * assert.throws(() => linknet({ size: 40 }), /next size that fits is 64/);
 * ```
 */
export function linknet(
  options: LinkNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  const name = "linknet";
  checkOptions(name, options, LINKNET_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 512);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? 64);
  const classes = checkSize(name, "classes", options.classes ?? 21);
  const blocks = checkSizes(
    name,
    "blocks",
    options.blocks ?? [2, 2, 2, 2],
    "the blocks of each stage",
  );
  // conv1 and pool1 halve, and each stage but the first.
  const pixel = 2 ** (blocks.length + 1);
  if (size % pixel !== 0) {
    throw new RangeError(
      `"size" ${size} of model "${name}" leaves an odd side to halve ` +
        `(${blocks.length} stages); the next size that fits is ${
          Math.ceil(size / pixel) * pixel
        }`,
    );
  }
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );

  const named = (conv: string) => ({ conv: `${conv}.0`, norm: `${conv}.1` });
  const decoder = (stage: number, x: FeatureMap, skip: FeatureMap) => {
    const inner = Math.ceil(x.channels / 4);
    const tensors = `decoder${stage}`;
    const c1 = network.convolution(`d${stage}.c1`, x, {
      ...named(`${tensors}.conv1`),
      out: inner,
      kernel: 1,
    });
    const up = network.upConvolution(`d${stage}.up`, c1, {
      ...named(`${tensors}.tp_conv`),
      out: inner,
      kernel: 3,
      stride: skip.height / x.height,
    });
    return network.convolution(`d${stage}.c2`, up, {
      ...named(`${tensors}.conv2`),
      out: skip.channels,
      kernel: 1,
      skip,
    });
  };

  const stem = residualStem(network, width);
  const form = { width, blocks, kind: "basic" } as const;
  const encoded = [stem, ...residualStages(network, stem, form)];
  let top = encoded[blocks.length];
  for (let stage = blocks.length; stage > 0; stage--) {
    top = decoder(stage, top, encoded[stage - 1]);
  }
  const half = Math.ceil(width / 2);
  const up1 = network.upConvolution("up1", top, {
    ...named("tp_conv1"),
    bias: true,
    out: half,
    kernel: 3,
    stride: 2,
  });
  const conv2 = network.convolution("conv2", up1, {
    ...named("conv2"),
    bias: true,
    out: half,
    kernel: 3,
  });
  const up2 = network.upConvolution("up2", conv2, {
    conv: "tp_conv2",
    out: classes,
    kernel: 2,
    stride: 2,
    linear: true,
  });
  return network.model(up2);
}
