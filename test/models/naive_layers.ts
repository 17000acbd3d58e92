/** Layers of image networks in double precision over plain arrays: no cells, no graph, nothing fused. */
import {
  type ImageShape,
  imageShape,
  type Pair,
  transposedShape,
} from "../../src/tensor/image_shape.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";
import { conv, convTranspose, pool } from "../kernels/reference/image.ts";

export interface Image {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly data: ArrayLike<number>;
}

type Pads = readonly [number, number, number, number];

const imageOf = (shape: ImageShape, data: ArrayLike<number>): Image => ({
  height: shape.outHeight,
  width: shape.outWidth,
  channels: shape.outChannels,
  data,
});

const sizeOf = ({ height, width, channels }: Image) => ({
  height,
  width,
  channels,
});

export const relu = (image: Image): Image => ({
  ...image,
  data: Array.from(image.data, (x) => Math.max(0, x)),
});

export const sum = (a: Image, b: Image): Image => ({
  ...a,
  data: Array.from(a.data, (x, i) => x + b.data[i]),
});

/** Images of one height and width, one channel after the other. */
export function stacked(...images: readonly Image[]): Image {
  const [{ height, width }] = images;
  const data = Array.from(
    { length: height * width },
    (_, pixel) =>
      images.flatMap((image) =>
        Array.from(
          { length: image.channels },
          (_, c) => image.data[pixel * image.channels + c],
        )
      ),
  ).flat();
  const channels = images.reduce((sum, image) => sum + image.channels, 0);
  return { height, width, channels, data };
}

export function cropped(image: Image, height: number, width: number): Image {
  const { channels } = image;
  const top = Math.floor((image.height - height) / 2);
  const left = Math.floor((image.width - width) / 2);
  const data = Array.from({ length: height * width * channels }, (_, i) => {
    const pixel = Math.floor(i / channels);
    const y = top + Math.floor(pixel / width);
    const x = left + pixel % width;
    return image.data[(y * image.width + x) * channels + i % channels];
  });
  return { height, width, channels, data };
}

export function pooled(
  x: Image,
  kind: "max" | "average",
  kernel: number,
  stride: number,
  pad = 0,
): Image {
  const pads = [pad, pad, pad, pad] as const;
  const shape = imageShape({ ...sizeOf(x), kernel, stride, pads });
  return imageOf(shape, pool(kind, shape, x.data));
}

/** The mean of every channel. */
export function means({ height, width, channels, data }: Image): number[] {
  const pixels = height * width;
  return Array.from(
    { length: channels },
    (_, c) =>
      Array.from({ length: pixels }, (_, p) => data[p * channels + c])
        .reduce((sum, value) => sum + value, 0) / pixels,
  );
}

/** In the order [channels][height][width]. */
export function flat({ height, width, channels, data }: Image): number[] {
  return Array.from({ length: channels }, (_, c) =>
    Array.from(
      { length: height * width },
      (_, pixel) => data[pixel * channels + c],
    )).flat();
}

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

  /** The convolution `name`; with a bias if there is one of that name. */
  conv(x: Image, name: string, options: {
    out: number;
    kernel: Pair;
    stride?: number;
    pads?: Pads;
    groups?: number;
  }): Image {
    const { out, ...window } = options;
    const shape = imageShape({ ...sizeOf(x), outChannels: out, ...window });
    const weight = this.get(`${name}.weight`);
    return imageOf(shape, conv(shape, x.data, weight, this.#bias(name, out)));
  }

  /** The transposed convolution `name`; with a bias if there is one of that name. */
  convTranspose(x: Image, name: string, options: {
    out: number;
    kernel: number;
    stride: number;
    pads?: Pads;
    outputPadding?: number;
  }): Image {
    const { out, ...window } = options;
    const shape = transposedShape({
      ...sizeOf(x),
      outChannels: out,
      ...window,
    });
    const weight = this.get(`${name}.weight`);
    const bias = this.#bias(name, out);
    return imageOf(shape, convTranspose(shape, x.data, weight, bias));
  }

  /** The BatchNormalization `name`. */
  norm(x: Image, name: string, epsilon = 1e-5): Image {
    const [scale, shift, mean, variance] = [
      "weight",
      "bias",
      "running_mean",
      "running_var",
    ].map((part) => this.get(`${name}.${part}`));
    const data = Array.from(x.data, (value, i) => {
      const c = i % x.channels;
      return scale[c] * (value - mean[c]) / Math.sqrt(variance[c] + epsilon) +
        shift[c];
    });
    return { ...x, data };
  }

  /** The fully connected layer `name`. */
  dense(x: readonly number[], name: string): number[] {
    const weight = this.get(`${name}.weight`);
    return Array.from(
      this.get(`${name}.bias`),
      (bias, j) =>
        x.reduce(
          (sum, value, k) => sum + value * weight[j * x.length + k],
          bias,
        ),
    );
  }

  #bias(name: string, out: number): ArrayLike<number> {
    return this.#known.get(`${name}.bias`) ?? new Array<number>(out).fill(0);
  }
}
