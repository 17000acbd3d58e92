/**
 * U-Net: a contracting path of 3x3 convolutions and 2x2 max poolings, an expanding path of 2x2
 * up-convolutions, each stacked with the map of the same level on the way down.
 * Source: Ronneberger, Fischer, Brox: U-Net: Convolutional Networks for Biomedical Image Segmentation
 * (MICCAI 2015), section 2 and Fig. 1: 572 x 572 x 1 in, 388 x 388 x 2 out, no padding. It is the network
 * DVABatch (section 7) cites; that paper gives no image size. A cell is one layer with its ReLU; cropping
 * and stacking belong to the convolution that reads the stack.
 */
import type { Model } from "../graph/model.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkChoice, checkOptions, checkSize } from "./checks.ts";
import type { ImageInput } from "./conv_cell.ts";
import { type FeatureMap, ImageNetwork } from "./image_network.ts";

const PADDINGS = ["valid", "same"] as const;

/** Every level doubles the least side of an image. */
const DEPTH_MAX = 16;

/** Sizes are positive integers. */
export interface UNetOptions {
  /** Height and width of the images; default 572. Every pooling needs an even side. */
  size?: number;
  /** Numbers of a pixel; default 1. */
  channels?: number;
  /** Channels of the first level; they double with every level. Default 64. */
  base?: number;
  /** Poolings, and as many up-convolutions; at most 16, default 4. */
  depth?: number;
  /** Classes of a pixel; default 2. */
  classes?: number;
  /** "valid": every 3x3 convolution loses a border of one pixel (the paper); "same": none. Default "valid". */
  padding?: "valid" | "same";
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const UNET_OPTIONS = [
  "size",
  "channels",
  "base",
  "depth",
  "classes",
  "padding",
] as const satisfies readonly (keyof UNetOptions)[];

/**
 * U-Net: a contracting path of 3x3 convolutions and 2x2 max poolings, an expanding path of 2x2 up-convolutions, each
 * stacked with the map of the same level on the way down. A cell is one layer with its ReLU.
 * Source: Ronneberger, Fischer, Brox: U-Net (MICCAI 2015), section 2 and Fig. 1.
 *
 * Results: `logits` [height][width][classes], of the image that comes out: 388 x 388 for 572 x 572 without padding.
 *
 * Cells: `down0.c1`, `down0.c2`, `down0.pool`, ..., `bottom.c1`, `bottom.c2`, `up3.up`, `up3.c1`, `up3.c2`, ..., `out`.
 * Tensors: each cell but a pool has a `.weight` [out, in, height, width] ([in, out, 2, 2] for `.up`) and a `.bias`
 * [out]; a stack has the skip's channels first.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs, the next size that
 * fits for a size that does not
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { unet } from "@shoal/core";
 *
 * const model = unet({ size: 16, base: 2, depth: 1, padding: "same" });
 * assert.deepEqual(model.cells.at(-1)?.outputs[0].image, { height: 16, width: 16, channels: 2 });
 * assert.throws(() => unet({ size: 15, base: 2, depth: 1, padding: "same" }), /next size that fits is 16/);
 * ```
 */
export function unet(
  options: UNetOptions = {},
): Model<ImageInput, { logits: "f32" }> {
  const name = "unet";
  checkOptions(name, options, UNET_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 572);
  const channels = checkSize(name, "channels", options.channels ?? 1);
  const base = checkSize(name, "base", options.base ?? 64);
  const depth = checkSize(name, "depth", options.depth ?? 4);
  if (depth > DEPTH_MAX) {
    throw new RangeError(
      `"depth" of model "${name}" is at most ${DEPTH_MAX}, got ${depth}`,
    );
  }
  const classes = checkSize(name, "classes", options.classes ?? 2);
  const padding = checkChoice(
    name,
    "padding",
    options.padding ?? "valid",
    PADDINGS,
  );
  const border = padding === "valid" ? 1 : 0;
  if (!fits(size, depth, border)) {
    throw new RangeError(
      `"size" ${size} of model "${name}" (depth ${depth}, padding ${padding}) leaves a level with an odd ` +
        `or empty side to pool or up-convolve; the next size that fits is ${
          nextSize(size, depth, border)
        }`,
    );
  }
  const network = new ImageNetwork(
    name,
    { height: size, width: size, channels },
    checkedWeights(name, options.weights ?? seededWeights(1)),
  );

  /** Two 3x3 convolutions, of what a skip and the level below give if there is one. */
  const twice = (
    prefix: string,
    x: FeatureMap,
    out: number,
    stacked?: FeatureMap,
  ): FeatureMap => {
    const form = { out, kernel: 3, pads: 1 - border };
    const c1 = network.convolution(`${prefix}.c1`, x, {
      ...form,
      conv: `${prefix}.c1`,
      ...(stacked && { stacked }),
    });
    const conv = `${prefix}.c2`;
    return network.convolution(conv, c1, { ...form, conv });
  };

  const skips: FeatureMap[] = [];
  let top = network.input;
  for (let level = 0; level < depth; level++) {
    const skip = twice(`down${level}`, top, base * 2 ** level);
    skips.push(skip);
    const window = { kernelShape: 2, strides: 2 };
    top = network.maxPool(`down${level}.pool`, skip, window);
  }
  top = twice("bottom", top, base * 2 ** depth);
  for (let level = depth - 1; level >= 0; level--) {
    const out = base * 2 ** level;
    const up = network.upConvolution(`up${level}.up`, top, {
      ...{ out, kernel: 2, stride: 2 },
      conv: `up${level}.up`,
      linear: true,
    });
    top = twice(`up${level}`, up, out, skips[level]);
  }
  const out = { out: classes, kernel: 1, conv: "out", linear: true };
  return network.model(network.convolution("out", top, out));
}

/** Whether every pooling halves an even side, and every convolution leaves something. */
function fits(size: number, depth: number, border: number): boolean {
  let side = size;
  for (let level = 0; level < depth; level++) {
    side -= 4 * border;
    if (side < 2 || side % 2 !== 0) return false;
    side /= 2;
  }
  side -= 4 * border;
  for (let level = 0; level < depth && side > 0; level++) {
    side = 2 * side - 4 * border;
  }
  return side > 0;
}

function nextSize(size: number, depth: number, border: number): number {
  let next = size;
  while (!fits(next, depth, border)) next++;
  return next;
}
