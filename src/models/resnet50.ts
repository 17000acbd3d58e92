/**
 * ResNet-50: bottleneck blocks of 1x1, 3x3 and 1x1 convolutions with shortcuts.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and
 * Fig. 5 right. A cell is one layer, a convolution together with its BatchNormalization, shortcut and
 * ReLU (LazyBatching's node is a layer), in the order of npu/networks/resnet50.ts.
 * Tensors have torchvision's names and layouts, so that its weights fit as they are.
 */
import { defineCell, f32, image } from "../graph/cell_builder.ts";
import type { Cell } from "../graph/cell.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { ImageSize } from "../graph/operator.ts";
import type { ConvAttributes } from "../graph/operators/images.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { describe, isList } from "../base/describe.ts";
import {
  checkChoice,
  checkImageInput,
  checkOptions,
  checkSize,
  readImage,
} from "./checks.ts";
import { batchNormWeights, convWeight, type ImageInput } from "./conv_cell.ts";

const VARIANTS = ["v1.5", "v1"] as const;

/** Channels that leave a block, over those inside it. */
const EXPANSION = 4;

/** Sizes are positive integers. */
export interface ResNet50Options {
  /** Height and width of the images; default 224. */
  size?: number;
  /** Numbers of a pixel; default 3. */
  channels?: number;
  /** Channels of conv1 and inside the blocks of the first stage; default 64. */
  width?: number;
  /** Blocks of each stage; default [3, 4, 6, 3]. */
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
export const RESNET50_OPTIONS = [
  "size",
  "channels",
  "width",
  "blocks",
  "classes",
  "variant",
] as const satisfies readonly (keyof ResNet50Options)[];

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
  options: ResNet50Options = {},
): Model<ImageInput, { logits: "f32" }> {
  const name = "resnet50";
  checkOptions(name, options, RESNET50_OPTIONS);
  const size = checkSize(name, "size", options.size ?? 224);
  const channels = checkSize(name, "channels", options.channels ?? 3);
  const width = checkSize(name, "width", options.width ?? 64);
  const classes = checkSize(name, "classes", options.classes ?? 1000);
  const given = options.blocks ?? [3, 4, 6, 3];
  if (!isList(given) || given.length === 0) {
    throw new RangeError(
      `"blocks" of model "${name}" lists the blocks of each stage, got ${
        describe(given)
      }`,
    );
  }
  const blocks = Array.from(
    given,
    (count, s) => checkSize(name, `blocks[${s}]`, count),
  );
  const variant = checkChoice(
    name,
    "variant",
    options.variant ?? "v1.5",
    VARIANTS,
  );
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));

  const cells: Cell[] = [];
  const add = (cell: Cell): Cell => {
    cells.push(cell);
    return cell;
  };
  const sizeOf = ({ outputs }: Cell): ImageSize => outputs[0].image!;

  /** Convolution and BatchNormalization, then the shortcut if there is one, then ReLU unless `linear`. */
  const convolution = (cell: {
    name: string;
    from: ImageSize;
    out: number;
    kernel: number;
    stride: number;
    tensors: { conv: string; norm: string };
    shortcut?: ImageSize;
    linear?: boolean;
  }): Cell => {
    const { from, out, kernel, stride, tensors, shortcut } = cell;
    const weight = convWeight(weights, `${tensors.conv}.weight`, [
      out,
      from.channels,
      kernel,
      kernel,
    ]);
    const norm = batchNormWeights(weights, tensors.norm, out);
    const attributes: ConvAttributes = {
      strides: stride,
      pads: (kernel - 1) / 2,
    };
    return add(defineCell<"x" | "shortcut", "y">({
      name: cell.name,
      priority: cells.length,
      inputs: {
        x: image(from.height, from.width, from.channels),
        ...(shortcut && {
          shortcut: image(shortcut.height, shortcut.width, shortcut.channels),
        }),
      } as Record<"x" | "shortcut", ReturnType<typeof image>>,
      body(op, { x, shortcut }) {
        let y = op.BatchNormalization(op.Conv(x, weight, attributes), norm);
        if (shortcut) y = op.Add(y, shortcut);
        return { y: cell.linear ? y : op.Relu(y) };
      },
    }));
  };

  /** A block; its cells in order, and whether a projection makes its shortcut. */
  const block = (from: ImageSize, s: number, b: number) => {
    const inner = width * 2 ** s;
    const stride = b === 0 && s > 0 ? 2 : 1;
    const [first, second] = variant === "v1" ? [stride, 1] : [1, stride];
    const prefix = `s${s + 2}.${b}`;
    const tensors = `layer${s + 1}.${b}`;
    const numbered = (i: 1 | 2 | 3) => ({
      name: `${prefix}.c${i}`,
      tensors: { conv: `${tensors}.conv${i}`, norm: `${tensors}.bn${i}` },
    });
    const c1 = convolution({
      ...numbered(1),
      from,
      out: inner,
      kernel: 1,
      stride: first,
    });
    const c2 = convolution({
      ...numbered(2),
      from: sizeOf(c1),
      out: inner,
      kernel: 3,
      stride: second,
    });
    const down = b > 0 ? undefined : convolution({
      name: `${prefix}.down`,
      from,
      out: EXPANSION * inner,
      kernel: 1,
      stride,
      tensors: {
        conv: `${tensors}.downsample.0`,
        norm: `${tensors}.downsample.1`,
      },
      linear: true,
    });
    const c3 = convolution({
      ...numbered(3),
      from: sizeOf(c2),
      out: EXPANSION * inner,
      kernel: 1,
      stride: 1,
      shortcut: down ? sizeOf(down) : from,
    });
    return { c1, c2, down, c3 };
  };

  const input = { height: size, width: size, channels };
  const conv1 = convolution({
    name: "conv1",
    from: input,
    out: width,
    kernel: 7,
    stride: 2,
    tensors: { conv: "conv1", norm: "bn1" },
  });
  const stem = sizeOf(conv1);
  const pool1 = add(defineCell({
    name: "pool1",
    priority: cells.length,
    inputs: { x: image(stem.height, stem.width, stem.channels) },
    body: (op, { x }) => ({
      y: op.MaxPool(x, { kernelShape: 3, strides: 2, pads: 1 }),
    }),
  }));
  let top = sizeOf(pool1);
  const stages = blocks.map((count, s) =>
    Array.from({ length: count }, (_, b) => {
      const built = block(top, s, b);
      top = sizeOf(built.c3);
      return built;
    })
  );
  const pool5 = add(defineCell({
    name: "pool5",
    priority: cells.length,
    inputs: { x: image(top.height, top.width, top.channels) },
    body: (op, { x }) => ({ y: op.Flatten(op.GlobalAveragePool(x)) }),
  }));
  const fanIn = top.channels;
  const fc = add(defineCell({
    name: "fc",
    priority: cells.length,
    inputs: { x: f32(fanIn) },
    body: (op, { x }) => ({
      logits: op.Gemm(
        x,
        weights("fc.weight", [classes, fanIn], fanIn),
        weights("fc.bias", [classes], fanIn),
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
      let last = graph.node(conv1, {
        x: graph.row(
          graph.rows(readImage(image, input)),
          0,
          conv1.inputs[0].width,
        ),
      });
      last = follow(pool1, last);
      for (const { c1, c2, down, c3 } of stages.flat()) {
        const inner = follow(c2, follow(c1, last));
        const shortcut = down ? follow(down, last) : last;
        last = graph.node(c3, {
          x: graph.output(inner, "y"),
          shortcut: graph.output(shortcut, "y"),
        });
      }
      last = follow(fc, follow(pool5, last));
      graph.result("logits", graph.output(last, "logits"));
    },
  };
}
