/**
 * What residual networks are made of: the stem and the stages of blocks.
 * Source: He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (CVPR 2016), table 1 and Fig. 5:
 * basic blocks of two 3x3 convolutions (left), bottleneck blocks of 1x1, 3x3 and 1x1 ones (right).
 * Tensors have torchvision's names and layouts, so that its weights fit as they are.
 */
import type { FeatureMap, ImageNetwork } from "./image_network.ts";

/** Channels that leave a bottleneck block, over those inside it. */
const EXPANSION = 4;

export interface ResidualStages {
  /** Channels inside the blocks of the first stage; they double with every stage. */
  readonly width: number;
  /** Blocks of each stage. */
  readonly blocks: readonly number[];
  readonly kind: "basic" | "bottleneck";
  /** Where a bottleneck stage's first block strides: in its first 1x1 convolution ("v1") or the 3x3 one. */
  readonly variant?: "v1.5" | "v1";
}

/** The 7x7 convolution and the pooling in front of the first stage: a quarter of the image's height and width. */
export function residualStem(
  network: ImageNetwork,
  width: number,
): FeatureMap {
  const conv1 = network.convolution("conv1", network.input, {
    out: width,
    kernel: 7,
    stride: 2,
    conv: "conv1",
    norm: "bn1",
  });
  return network.maxPool("pool1", conv1, {
    kernelShape: 3,
    strides: 2,
    pads: 1,
  });
}

/**
 * Adds the stages behind `stem`: cells `s2.0.c1`, `s2.0.c2`, `s2.0.down`, `s2.0.c3`, ... (stage and block).
 * @returns what each stage makes
 */
export function residualStages(
  network: ImageNetwork,
  stem: FeatureMap,
  { width, blocks, kind, variant = "v1.5" }: ResidualStages,
): FeatureMap[] {
  let top = stem;
  return blocks.map((count, s) => {
    const inner = width * 2 ** s;
    for (let b = 0; b < count; b++) {
      const stride = b === 0 && s > 0 ? 2 : 1;
      const [first, second] = variant === "v1" ? [stride, 1] : [1, stride];
      const from = top;
      const tensors = `layer${s + 1}.${b}`;
      const layer = (
        i: 1 | 2 | 3,
        x: FeatureMap,
        options: { out: number; kernel: number; stride?: number },
        shortcut?: FeatureMap,
      ) =>
        network.convolution(`s${s + 2}.${b}.c${i}`, x, {
          ...options,
          conv: `${tensors}.conv${i}`,
          norm: `${tensors}.bn${i}`,
          ...(shortcut && { shortcut }),
        });
      /** The block's input, or a projection of it where the sum needs another size. */
      const shortcut = (out: number) =>
        stride === 1 && from.channels === out
          ? from
          : network.convolution(`s${s + 2}.${b}.down`, from, {
            out,
            kernel: 1,
            stride,
            conv: `${tensors}.downsample.0`,
            norm: `${tensors}.downsample.1`,
            linear: true,
          });
      if (kind === "basic") {
        const c1 = layer(1, from, { out: inner, kernel: 3, stride });
        const options = { out: inner, kernel: 3 };
        top = layer(2, c1, options, shortcut(inner));
        continue;
      }
      const c1 = layer(1, from, { out: inner, kernel: 1, stride: first });
      const c2 = layer(2, c1, { out: inner, kernel: 3, stride: second });
      const out = EXPANSION * inner;
      top = layer(3, c2, { out, kernel: 1 }, shortcut(out));
    }
    return top;
  });
}
