/**
 * ResNet, VGG and U-Net straight from their papers, in double precision, layer after layer over plain
 * arrays: no cells, no graph, nothing fused.
 */
import {
  type ImageShape,
  imageShape,
  transposedShape,
} from "../../src/tensor/image_shape.ts";
import { conv, convTranspose, pool } from "../kernels/reference/image.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";

interface Image {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly data: ArrayLike<number>;
}

const imageOf = (shape: ImageShape, data: ArrayLike<number>): Image => ({
  height: shape.outHeight,
  width: shape.outWidth,
  channels: shape.outChannels,
  data,
});

const relu = (image: Image): Image => ({
  ...image,
  data: Array.from(image.data, (x) => Math.max(0, x)),
});

/** Tensors that a model asked for, by name. */
export class Tensors {
  readonly #known = new Map<string, Float32Array>();

  constructor(readonly source: WeightSource) {}

  /** The source, remembering what it gave. */
  readonly recorded: WeightSource = (name, shape, fanIn, around) => {
    const tensor = this.source(name, shape, fanIn, around);
    this.#known.set(name, tensor.data);
    return tensor;
  };

  get names(): string[] {
    return [...this.#known.keys()];
  }

  get(name: string): Float32Array {
    const data = this.#known.get(name);
    if (data === undefined) throw new RangeError(`No tensor ${name}`);
    return data;
  }
}

export function naiveResNet(
  input: Image,
  tensors: Tensors,
  { width, blocks, variant }: {
    width: number;
    blocks: readonly number[];
    variant: "v1" | "v1.5";
  },
): number[] {
  const convolution = (
    x: Image,
    name: string,
    norm: string,
    out: number,
    kernel: number,
    stride: number,
  ): Image => {
    const pad = (kernel - 1) / 2;
    const shape = imageShape({
      height: x.height,
      width: x.width,
      channels: x.channels,
      outChannels: out,
      kernel,
      stride,
      pads: [pad, pad, pad, pad],
    });
    const sums = conv(
      shape,
      x.data,
      tensors.get(`${name}.weight`),
      new Array<number>(out).fill(0),
    );
    const [scale, shift, mean, variance] = [
      "weight",
      "bias",
      "running_mean",
      "running_var",
    ].map((part) => tensors.get(`${norm}.${part}`));
    return imageOf(
      shape,
      sums.map((sum, i) => {
        const c = i % out;
        return scale[c] * (sum - mean[c]) /
            Math.sqrt(variance[c] + 1e-5) +
          shift[c];
      }),
    );
  };
  let x = relu(convolution(input, "conv1", "bn1", width, 7, 2));
  const stem = imageShape({
    height: x.height,
    width: x.width,
    channels: x.channels,
    kernel: 3,
    stride: 2,
    pads: [1, 1, 1, 1],
  });
  x = imageOf(stem, pool("max", stem, x.data));
  blocks.forEach((count, s) => {
    for (let b = 0; b < count; b++) {
      const at = `layer${s + 1}.${b}`;
      const inner = width * 2 ** s;
      const stride = b === 0 && s > 0 ? 2 : 1;
      const [first, second] = variant === "v1" ? [stride, 1] : [1, stride];
      const layer = (
        from: Image,
        i: number,
        out: number,
        kernel: number,
        stride: number,
      ) =>
        convolution(
          from,
          `${at}.conv${i}`,
          `${at}.bn${i}`,
          out,
          kernel,
          stride,
        );
      let y = relu(layer(x, 1, inner, 1, first));
      y = relu(layer(y, 2, inner, 3, second));
      y = layer(y, 3, 4 * inner, 1, 1);
      const shortcut = b > 0 ? x : convolution(
        x,
        `${at}.downsample.0`,
        `${at}.downsample.1`,
        4 * inner,
        1,
        stride,
      );
      x = relu({
        ...y,
        data: Array.from(y.data, (value, i) => value + shortcut.data[i]),
      });
    }
  });
  const pixels = x.height * x.width;
  const means = Array.from(
    { length: x.channels },
    (_, c) =>
      Array.from({ length: pixels }, (_, p) => x.data[p * x.channels + c])
        .reduce((sum, value) => sum + value, 0) / pixels,
  );
  return dense(tensors, "fc", means);
}

function dense(
  tensors: Tensors,
  name: string,
  x: readonly number[],
): number[] {
  const weight = tensors.get(`${name}.weight`);
  return Array.from(
    tensors.get(`${name}.bias`),
    (bias, j) =>
      x.reduce((sum, value, k) => sum + value * weight[j * x.length + k], bias),
  );
}

/** @param blocks convolutions of each stage */
export function naiveVgg(
  input: Image,
  tensors: Tensors,
  blocks: readonly number[],
): number[] {
  let x = input;
  let feature = 0;
  for (const count of blocks) {
    for (let i = 0; i < count; i++) {
      const bias = tensors.get(`features.${feature}.bias`);
      const shape = imageShape({
        height: x.height,
        width: x.width,
        channels: x.channels,
        outChannels: bias.length,
        kernel: 3,
        pads: [1, 1, 1, 1],
      });
      const weight = tensors.get(`features.${feature}.weight`);
      x = relu(imageOf(shape, conv(shape, x.data, weight, bias)));
      feature += 2;
    }
    const shape = imageShape({
      height: x.height,
      width: x.width,
      channels: x.channels,
      kernel: 2,
      stride: 2,
    });
    x = imageOf(shape, pool("max", shape, x.data));
    feature++;
  }
  const { height, width, channels, data } = x;
  let row = Array.from({ length: channels }, (_, c) =>
    Array.from(
      { length: height * width },
      (_, pixel) => data[pixel * channels + c],
    )).flat();
  for (const layer of [0, 3, 6]) {
    row = dense(tensors, `classifier.${layer}`, row);
    if (layer < 6) row = row.map((value) => Math.max(0, value));
  }
  return row;
}

export function naiveUNet(
  input: Image,
  tensors: Tensors,
  { base, depth, classes, padding }: {
    base: number;
    depth: number;
    classes: number;
    padding: "valid" | "same";
  },
): number[] {
  const pad = padding === "same" ? 1 : 0;
  const convolution = (x: Image, name: string, out: number, kernel = 3) => {
    const p = kernel === 3 ? pad : 0;
    const shape = imageShape({
      height: x.height,
      width: x.width,
      channels: x.channels,
      outChannels: out,
      kernel,
      pads: [p, p, p, p],
    });
    const weight = tensors.get(`${name}.weight`);
    const bias = tensors.get(`${name}.bias`);
    return imageOf(shape, conv(shape, x.data, weight, bias));
  };
  const twice = (x: Image, name: string, out: number) =>
    relu(
      convolution(relu(convolution(x, `${name}.c1`, out)), `${name}.c2`, out),
    );

  const skips: Image[] = [];
  let x = input;
  for (let level = 0; level < depth; level++) {
    x = twice(x, `down${level}`, base * 2 ** level);
    skips.push(x);
    const shape = imageShape({
      height: x.height,
      width: x.width,
      channels: x.channels,
      kernel: 2,
      stride: 2,
    });
    x = imageOf(shape, pool("max", shape, x.data));
  }
  x = twice(x, "bottom", base * 2 ** depth);
  for (let level = depth - 1; level >= 0; level--) {
    const out = base * 2 ** level;
    const shape = transposedShape({
      height: x.height,
      width: x.width,
      channels: x.channels,
      outChannels: out,
      kernel: 2,
      stride: 2,
    });
    x = imageOf(
      shape,
      convTranspose(
        shape,
        x.data,
        tensors.get(`up${level}.up.weight`),
        tensors.get(`up${level}.up.bias`),
      ),
    );
    x = twice(stacked(skips[level], x), `up${level}`, out);
  }
  return [...convolution(x, "out", classes, 1).data as Float64Array];
}

/** The middle of `skip` and, behind its channels, `x`. */
function stacked(skip: Image, x: Image): Image {
  const top = Math.floor((skip.height - x.height) / 2);
  const left = Math.floor((skip.width - x.width) / 2);
  const channels = skip.channels + x.channels;
  const data: number[] = [];
  for (let row = 0; row < x.height; row++) {
    for (let column = 0; column < x.width; column++) {
      const from = ((row + top) * skip.width + column + left) * skip.channels;
      for (let c = 0; c < skip.channels; c++) data.push(skip.data[from + c]);
      const own = (row * x.width + column) * x.channels;
      for (let c = 0; c < x.channels; c++) data.push(x.data[own + c]);
    }
  }
  return { height: x.height, width: x.width, channels, data };
}
