/**
 * ResNet-50, -101 and -152: bottleneck blocks of 1x1, 3x3 and 1x1 convolutions with shortcuts.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and
 * Fig. 5 right. A cell is one layer, in the order of npu/networks/resnet50.ts.
 */
import type { Model } from "../graph/model.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkChoice, checkOptions, checkSize, checkSizes } from "./checks.ts";
import type { ImageInput } from "./conv_cell.ts";
import { ImageNetwork } from "./image_network.ts";
import { residualStages, residualStem } from "./residual_stages.ts";

const VARIANTS = ["v1.5", "v1"] as const;

/** Table 1: blocks of each stage. */
const DEPTHS = {
  resnet50: [3, 4, 6, 3],
  resnet101: [3, 4, 23, 3],
  resnet152: [3, 8, 36, 3],
} as const;

/** Sizes are positive integers. */
export interface ResNetOptions {
  /** Height and width of the images; default 224. */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of conv1 and inside the blocks of the first stage; default 64. */
  width?: number;
  /** Blocks of each stage; default [3, 4, 6, 3], [3, 4, 23, 3] of ResNet-101, [3, 8, 36, 3] of ResNet-152. */
  blocks?: readonly number[];
  /** Classes of the classifier; default 1000. */
  classes?: number;
  /**
   * Where a stage's first block strides: "v1" in its first 1x1 convolution (the paper), "v1.5" in the
   * 3x3 one (torchvision, MLPerf). Default "v1.5".
   */
  variant?: "v1.5" | "v1";
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const RESNET_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "classes",
  "variant",
] as const satisfies readonly (keyof ResNetOptions)[];

/**
 * ResNet-50, or another network of bottleneck blocks. A cell is a convolution together with its
 * BatchNormalization, shortcut and ReLU.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and Fig. 5 right.
 *
 * Results: `logits` [classes].
 *
 * Cells: `conv1`, `pool1`, `s2.0.c1`, `s2.0.c2`, `s2.0.down`, `s2.0.c3`, ... (stage and block), `pool5`, `fc`. Tensors
 * have torchvision's names and layouts (`conv1.weight`, `layer1.0.bn2.running_mean`, ...), so that its weights fit
 * as they are; images are [height][width][channels] here.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { resnet50, type Model } from "@shoal/core";
 *
 * const model: Model = resnet50({ size: 32, width: 2, blocks: [1, 1], classes: 10 });
 * assert.deepEqual(model.image, { height: 32, width: 32, channels: 3 });
 * model.check({ image: new Float32Array(32 * 32 * 3) });
 * ```
 */
export function resnet50(
  options: ResNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  return resnet("resnet50", options);
}

/**
 * ResNet-101: as `resnet50`, with 23 blocks in its third stage.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and Fig. 5 right.
 *
 * Results, cells and tensors: see `resnet50`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { resnet101 } from "@shoal/core";
 *
 * const { cells } = resnet101({ size: 8, width: 1, classes: 2 });
 * assert(cells.some(({ name }) => name === "s4.22.c3"));
 * ```
 */
export function resnet101(
  options: ResNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  return resnet("resnet101", options);
}

/**
 * ResNet-152: as `resnet50`, with 8 blocks in its second and 36 in its third stage.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and Fig. 5 right.
 *
 * Results, cells and tensors: see `resnet50`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { resnet152 } from "@shoal/core";
 *
 * const { cells } = resnet152({ size: 8, width: 1, classes: 2 });
 * assert(cells.some(({ name }) => name === "s4.35.c3"));
 * ```
 */
export function resnet152(
  options: ResNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  return resnet("resnet152", options);
}

function resnet(
  name: keyof typeof DEPTHS,
  options: ResNetOptions,
): Model<ImageInput, { logits: "f32" }> {
  checkOptions(name, options, RESNET_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 224);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? 64);
  const classes = checkSize(name, "classes", options.classes ?? 1000);
  const blocks = checkSizes(
    name,
    "blocks",
    options.blocks ?? DEPTHS[name],
    "the blocks of each stage",
  );
  const variant = checkChoice(
    name,
    "variant",
    options.variant ?? "v1.5",
    VARIANTS,
  );
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );
  const stem = residualStem(network, width);
  const form = { width, blocks, kind: "bottleneck", variant } as const;
  const stages = residualStages(network, stem, form);
  const means = network.means("pool5", stages[stages.length - 1]);
  const fc = { units: classes, tensors: "fc", linear: true };
  return network.model(network.dense("fc", means, fc));
}
