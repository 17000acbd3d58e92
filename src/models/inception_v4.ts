/**
 * Inception-v4: a stem, then modules of parallel branches whose maps are stacked ("filter concat").
 * Source: Szegedy, Ioffe, Vanhoucke, Alemi: Inception-v4, Inception-ResNet and the Impact of Residual Connections
 * on Learning (AAAI 2017, arXiv:1602.07261), Figs. 3 to 9, with k, l, m, n of Reduction-A from table 1. Average
 * poolings leave the padding out of the mean, as in the authors' code (TensorFlow). Dropout is for training alone.
 * A cell is one layer, a convolution together with its BatchNormalization and ReLU, a pooling or a stacking: several
 * cells read a stack, so that it is made once. Tensors have timm's names and layouts, so that its weights fit as
 * they are.
 */
import type { Model } from "../graph/model.ts";
import type { Pair } from "../tensor/image_shape.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkOptions, checkSize, checkSizes } from "./checks.ts";
import type { ImageInput } from "./conv_cell.ts";
import { type FeatureMap, ImageNetwork } from "./image_network.ts";

/** Of the authors' code (TensorFlow models, slim/nets/inception_utils.py), and timm. */
const EPSILON = 1e-3;

/** Channels of the first convolution in the paper; all others are multiples. */
const WIDTH = 32;

/** A layer of a branch: a pooling of 3x3, or a convolution; "V" in the figures is without padding. */
type Step =
  | "average"
  | "max/2 V"
  | readonly [out: number, kernel: Pair, form?: "V" | "/2 V"];

/** What a module stacks, by the name of the branch. */
type Branches = Readonly<Record<string, readonly Step[]>>;

/** Fig. 3. */
const STEM: readonly (readonly [name: string, branches: Branches])[] = [
  ["3a", { maxpool: ["max/2 V"], conv: [[96, 3, "/2 V"]] }],
  ["4a", {
    branch0: [[64, 1], [96, 3, "V"]],
    branch1: [[64, 1], [64, [1, 7]], [64, [7, 1]], [96, 3, "V"]],
  }],
  ["5a", { conv: [[192, 3, "/2 V"]], maxpool: ["max/2 V"] }],
];

/** Fig. 4. */
const INCEPTION_A: Branches = {
  branch0: [[96, 1]],
  branch1: [[64, 1], [96, 3]],
  branch2: [[64, 1], [96, 3], [96, 3]],
  branch3: ["average", [96, 1]],
};

/** Fig. 5. */
const INCEPTION_B: Branches = {
  branch0: [[384, 1]],
  branch1: [[192, 1], [224, [1, 7]], [256, [7, 1]]],
  branch2: [
    [192, 1],
    [192, [7, 1]],
    [224, [1, 7]],
    [224, [7, 1]],
    [256, [1, 7]],
  ],
  branch3: ["average", [128, 1]],
};

/** Figs. 7 and 8: what halves the maps of a stage for the next one. */
const REDUCTIONS: readonly Branches[] = [
  {
    branch0: [[384, 3, "/2 V"]],
    branch1: [[192, 1], [224, 3], [256, 3, "/2 V"]],
    branch2: ["max/2 V"],
  },
  {
    branch0: [[192, 1], [192, 3, "/2 V"]],
    branch1: [[256, 1], [256, [1, 7]], [320, [7, 1]], [320, 3, "/2 V"]],
    branch2: ["max/2 V"],
  },
];

/** Stages of modules: Inception-A, -B and -C. */
const STAGES = ["a", "b", "c"] as const;

/** Sizes are positive integers. */
export interface InceptionV4Options {
  /** Height and width of the images; default 299. */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of the first convolution, to which all others are in proportion; default 32. */
  width?: number;
  /** Inception-A, -B and -C modules; the last of these may be left out, with the reductions before. Default [4, 7, 3]. */
  blocks?: readonly number[];
  /** Classes of the classifier; default 1000. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const INCEPTION_V4_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "classes",
] as const satisfies readonly (keyof InceptionV4Options)[];

/**
 * Inception-v4: a stem, then modules of parallel branches whose maps are stacked. A cell is a convolution together with
 * its BatchNormalization and ReLU, a pooling, or a stacking.
 * Source: Szegedy, Ioffe, Vanhoucke, Alemi: Inception-v4, Inception-ResNet and the Impact of Residual Connections on
 * Learning (AAAI 2017), Figs. 3 to 9.
 *
 * Results: `logits` [classes].
 *
 * Cells: `conv1`, `conv2`, `conv3`, the stem's `3a.maxpool`, `3a.conv`, `3a.concat`, `4a.branch0.0`, ..., `5a.concat`,
 * then `a0.branch0`, `a0.branch1.0`, ..., `a0.concat`, ..., `reduction0.concat`, `b0.branch0`, ..., `c2.concat`,
 * `pool`, `fc`. Tensors have timm's names and layouts (`features.0.conv.weight`, `features.6.branch1.0.bn.running_mean`,
 * ..., `last_linear.bias`), so that its weights fit as they are; images are [height][width][channels] here.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { inceptionV4 } from "@shoal/core";
 *
 * const model = inceptionV4({ size: 75, width: 1, classes: 10 });
 * assert.equal(model.cells.filter(({ name }) => name.endsWith(".concat")).length, 3 + 4 + 1 + 7 + 1 + 3);
 * assert.throws(() => inceptionV4({ size: 74 }), /"size" of model "inceptionv4" is at least 75/);
 * ```
 */
export function inceptionV4(
  options: InceptionV4Options = {},
): Model<ImageInput, { logits: "f32" }> {
  const name = "inceptionv4";
  checkOptions(name, options, INCEPTION_V4_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 299);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? WIDTH);
  const classes = checkSize(name, "classes", options.classes ?? 1000);
  const blocks = checkSizes(
    name,
    "blocks",
    options.blocks ?? [4, 7, 3],
    "the modules of each stage",
  );
  if (blocks.length > STAGES.length) {
    throw new RangeError(
      `"blocks" of model "${name}" lists the modules of up to ${STAGES.length} stages, got ${blocks.length}`,
    );
  }
  if (size < leastSize(blocks.length)) {
    throw new RangeError(
      `"size" of model "${name}" is at least ${
        leastSize(blocks.length)
      }, of which a pixel is left in the last of ${blocks.length} stages, got ${size}`,
    );
  }
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );

  const apply = (
    step: Step,
    x: FeatureMap,
    cell: string,
    tensors: string,
  ): FeatureMap => {
    if (step === "average") {
      return network.layer(
        cell,
        { x },
        (op, { x }) => op.AveragePool(x, { kernelShape: 3, pads: 1 }),
      );
    }
    if (step === "max/2 V") {
      return network.maxPool(cell, x, { kernelShape: 3, strides: 2 });
    }
    const [out, kernel, form] = step;
    return network.convolution(cell, x, {
      out: out / WIDTH * width,
      kernel,
      ...(form && { pads: 0, stride: form === "V" ? 1 : 2 }),
      conv: `${tensors}.conv`,
      norm: `${tensors}.bn`,
      epsilon: EPSILON,
    });
  };

  /** A module's number among timm's `features`. */
  let feature = 0;
  const layer = (cell: string, x: FeatureMap, step: Step) =>
    apply(step, x, cell, `features.${feature++}`);
  const inception = (module: string, x: FeatureMap, branches: Branches) => {
    const tensors = `features.${feature++}`;
    const maps = Object.entries(branches).map(([branch, steps]) =>
      steps.reduce((map, step, i) => {
        const path = steps.length === 1 ? branch : `${branch}.${i}`;
        return apply(step, map, `${module}.${path}`, `${tensors}.${path}`);
      }, x)
    );
    return network.concat(`${module}.concat`, maps);
  };
  /** Fig. 6: two of its branches fork. */
  const inceptionC = (module: string, x: FeatureMap) => {
    const tensors = `features.${feature++}`;
    const at = (path: string, from: FeatureMap, step: Step) =>
      apply(step, from, `${module}.${path}`, `${tensors}.${path}`);
    const fork = (branch: string, from: FeatureMap) => [
      at(`${branch}a`, from, [256, [1, 3]]),
      at(`${branch}b`, from, [256, [3, 1]]),
    ];
    const zero = at("branch0", x, [256, 1]);
    const one = fork("branch1_1", at("branch1_0", x, [384, 1]));
    let deep = at("branch2_0", x, [384, 1]);
    deep = at("branch2_1", deep, [448, [3, 1]]);
    deep = at("branch2_2", deep, [512, [1, 3]]);
    const two = fork("branch2_3", deep);
    const mean = at("branch3.0", x, "average");
    const three = at("branch3.1", mean, [256, 1]);
    return network.concat(`${module}.concat`, [zero, ...one, ...two, three]);
  };

  let top = layer("conv1", network.input, [32, 3, "/2 V"]);
  top = layer("conv2", top, [32, 3, "V"]);
  top = layer("conv3", top, [64, 3]);
  for (const [module, branches] of STEM) {
    top = inception(module, top, branches);
  }
  blocks.forEach((count, s) => {
    if (s > 0) top = inception(`reduction${s - 1}`, top, REDUCTIONS[s - 1]);
    for (let b = 0; b < count; b++) {
      const module = `${STAGES[s]}${b}`;
      top = s === 2
        ? inceptionC(module, top)
        : inception(module, top, s === 0 ? INCEPTION_A : INCEPTION_B);
    }
  });
  const fc = { units: classes, tensors: "last_linear", linear: true };
  return network.model(network.dense("fc", network.means("pool", top), fc));
}

/** The least side of an image of which something is left in the last of the stages. */
function leastSize(stages: number): number {
  // What a 3x3 window of stride 2 without padding makes a side of `side` from.
  const halved = (side: number) => 2 * side + 1;
  let side = 1;
  for (let s = 1; s < stages; s++) side = halved(side);
  // Backwards through the stem: 5a, 4a, 3a, conv2, conv1.
  return halved(halved(halved(side) + 2) + 2);
}
