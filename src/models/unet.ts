/**
 * U-Net: a contracting path of 3x3 convolutions and 2x2 max poolings, an expanding path of 2x2
 * up-convolutions, each stacked with the map of the same level on the way down.
 * Source: Ronneberger, Fischer, Brox: U-Net: Convolutional Networks for Biomedical Image Segmentation
 * (MICCAI 2015), section 2 and Fig. 1: 572 x 572 x 1 in, 388 x 388 x 2 out, no padding. It is the network
 * DVABatch (section 7) cites; that paper gives no image size. A cell is one layer with its ReLU; cropping
 * and stacking belong to the convolution that reads the stack.
 */
import { defineCell, image } from "../graph/cell_builder.ts";
import type { Cell } from "../graph/cell.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { ImageSize } from "../graph/operator.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  checkChoice,
  checkImageInput,
  checkOptions,
  checkSize,
  readImage,
} from "./checks.ts";
import { convWeight, type ImageInput } from "./conv_cell.ts";

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
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));

  const cells: Cell[] = [];
  const add = (cell: Cell): Cell => {
    cells.push(cell);
    return cell;
  };
  const sizeOf = ({ outputs }: Cell): ImageSize => outputs[0].image!;
  const portOf = ({ height, width, channels }: ImageSize) =>
    image(height, width, channels);
  const bias = (tensors: string, out: number, fanIn: number) =>
    weights(`${tensors}.bias`, [out], fanIn);

  /** A 3x3 convolution and ReLU, of what a skip and the level below give if there is one. */
  const convolution = (
    cell: string,
    from: ImageSize,
    out: number,
    skip?: ImageSize,
  ): Cell => {
    const stacked = from.channels + (skip?.channels ?? 0);
    const weight = convWeight(weights, `${cell}.weight`, [out, stacked, 3, 3]);
    const attributes = {
      bias: bias(cell, out, 9 * stacked),
      pads: 1 - border,
    };
    return add(defineCell<"x" | "skip", "y">({
      name: cell,
      priority: cells.length,
      inputs: {
        ...(skip && { skip: portOf(skip) }),
        x: portOf(from),
      } as Record<"x" | "skip", ReturnType<typeof image>>,
      body(op, { x, skip }) {
        const stack = skip
          ? op.Concat(op.CenterCropPad(skip, from.height, from.width), x)
          : x;
        return { y: op.Relu(op.Conv(stack, weight, attributes)) };
      },
    }));
  };

  const input = { height: size, width: size, channels };
  let top: ImageSize = input;
  const down = Array.from({ length: depth + 1 }, (_, level) => {
    const prefix = level < depth ? `down${level}` : "bottom";
    const c1 = convolution(`${prefix}.c1`, top, base * 2 ** level);
    const c2 = convolution(`${prefix}.c2`, sizeOf(c1), base * 2 ** level);
    top = sizeOf(c2);
    if (level === depth) return { c1, c2 };
    const pool = add(defineCell({
      name: `${prefix}.pool`,
      priority: cells.length,
      inputs: { x: portOf(top) },
      body: (op, { x }) => ({
        y: op.MaxPool(x, { kernelShape: 2, strides: 2 }),
      }),
    }));
    top = sizeOf(pool);
    return { c1, c2, pool };
  });
  const up = Array.from({ length: depth }, (_, i) => {
    const level = depth - 1 - i;
    const prefix = `up${level}`;
    const out = base * 2 ** level;
    const from = top;
    // Each output pixel is a sum over one input pixel.
    const weight = weights(
      `${prefix}.up.weight`,
      [from.channels, out, 2, 2],
      from.channels / 3,
    );
    const upConvolution = add(defineCell({
      name: `${prefix}.up`,
      priority: cells.length,
      inputs: { x: portOf(from) },
      body: (op, { x }) => ({
        y: op.ConvTranspose(x, weight, {
          strides: 2,
          bias: bias(`${prefix}.up`, out, from.channels),
        }),
      }),
    }));
    const c1 = convolution(
      `${prefix}.c1`,
      sizeOf(upConvolution),
      out,
      sizeOf(down[level].c2),
    );
    const c2 = convolution(`${prefix}.c2`, sizeOf(c1), out);
    top = sizeOf(c2);
    return { level, up: upConvolution, c1, c2 };
  });
  const out = add(defineCell({
    name: "out",
    priority: cells.length,
    inputs: { x: portOf(top) },
    body: (op, { x }) => ({
      logits: op.Conv(
        x,
        weights("out.weight", [classes, base, 1, 1], base),
        { bias: bias("out", classes, base) },
      ),
    }),
  }));

  return {
    name,
    cells,
    shape: "chain",
    image: input,
    outputs: { logits: "f32" },
    check(given): asserts given is ImageInput {
      checkImageInput(name, given, input);
    },
    unfold({ image }, graph) {
      const follow = (cell: Cell, before: CellNode): CellNode =>
        graph.node(cell, { x: graph.output(before, "y") });
      const skips: CellNode[] = [];
      let last: CellNode | undefined;
      for (const { c1, c2, pool } of down) {
        const first = last ? follow(c1, last) : graph.node(c1, {
          x: graph.row(
            graph.rows(readImage(image, input)),
            0,
            c1.inputs[0].width,
          ),
        });
        last = follow(c2, first);
        if (pool === undefined) continue;
        skips.push(last);
        last = follow(pool, last);
      }
      for (const { level, up: upConvolution, c1, c2 } of up) {
        const first = graph.node(c1, {
          skip: graph.output(skips[level], "y"),
          x: graph.output(follow(upConvolution, last!), "y"),
        });
        last = follow(c2, first);
      }
      const logits = graph.output(follow(out, last!), "logits");
      graph.result("logits", logits);
    },
  };
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
