/** The sizes at which kernels are timed: layers of known networks and round numbers. */
import {
  type ImageShape,
  imageShape,
  transposedShape,
} from "../../src/tensor/image_shape.ts";

/** A size with the rows of its batch. */
export type Timed<Size> = Size & { rows: number };

/** Square weights in cache, and 32 MiB of them from memory; one row to many. */
export const GEMMS = [[512, 512], [4096, 2048]].flatMap(([n, k1]) =>
  [1, 4, 16, 64, 512].map((rows) => ({ rows, n: n, k1: k1 }))
);

/** The second matrix of BERT base's feed-forward layer. */
export const Q8_GEMMS = [1, 4, 16, 64, 256].map((rows) => ({
  rows,
  n: 768,
  k: 3072,
}));

/** Recurrent cells of the papers: hidden 1024. */
export const CELLS = [1, 4, 16, 64, 256].map((rows) => ({
  rows,
  hidden: 1024,
  inputSize: 1024,
}));

/** The same of int8. */
export const Q8_CELLS = CELLS.map((size) => ({ ...size, seven: true }));

/** Binary TreeLSTM nodes. */
export const TREE_CELLS = [1, 16, 64].map((rows) => ({
  rows,
  hidden: 512,
  inputSize: 512,
  arity: 2,
}));

type Layer = readonly [
  size: number,
  channels: number,
  outChannels: number,
  kernel: number,
  stride: number,
];

/** Square images, "same" padding. */
function layer(
  [size, channels, outChannels, kernel, stride]: Layer,
  groups = 1,
): { rows: number; shape: ImageShape } {
  const pad = kernel >> 1;
  return {
    rows: 1,
    shape: imageShape({
      height: size,
      width: size,
      channels,
      outChannels,
      kernel,
      stride,
      pads: [pad, pad, pad, pad],
      groups,
    }),
  };
}

const RESNET50_LAYERS: readonly Layer[] = [
  [224, 3, 64, 7, 2],
  [56, 64, 64, 1, 1],
  [56, 64, 64, 3, 1],
  [56, 64, 256, 1, 1],
  [56, 256, 64, 1, 1],
  [56, 256, 128, 1, 1],
  [56, 128, 128, 3, 2],
  [28, 128, 512, 1, 1],
  [56, 256, 512, 1, 2],
  [28, 512, 128, 1, 1],
  [28, 128, 128, 3, 1],
  [28, 512, 256, 1, 1],
  [28, 256, 256, 3, 2],
  [14, 256, 1024, 1, 1],
  [28, 512, 1024, 1, 2],
  [14, 1024, 256, 1, 1],
  [14, 256, 256, 3, 1],
  [14, 1024, 512, 1, 1],
  [14, 512, 512, 3, 2],
  [7, 512, 2048, 1, 1],
  [14, 1024, 2048, 1, 2],
  [7, 2048, 512, 1, 1],
  [7, 512, 512, 3, 1],
];

/** The distinct convolutions of ResNet-50 (He et al. 2016, table 1; stride in the 3x3). */
export const RESNET50 = RESNET50_LAYERS.map((sizes) => layer(sizes));

const DEPTHWISE_LAYERS: readonly Layer[] = [
  [112, 32, 32, 3, 1],
  [112, 64, 64, 3, 2],
  [56, 128, 128, 3, 1],
  [28, 256, 256, 3, 1],
  [14, 512, 512, 3, 1],
  [7, 1024, 1024, 3, 1],
];

/** Depthwise 3x3 layers of MobileNet v1 (Howard et al. 2017, table 1). */
export const DEPTHWISE = DEPTHWISE_LAYERS.map((sizes) =>
  layer(sizes, sizes[1])
);

/** Some of both, of int8: the first, 1x1 and 3x3 layers of ResNet-50, depthwise ones, one of them with stride 2. */
export const Q8_CONVOLUTIONS = [
  ...[RESNET50[0], RESNET50[2], RESNET50[3], RESNET50[10], RESNET50[16]],
  ...[RESNET50[13], RESNET50[15], RESNET50[22]],
  ...DEPTHWISE.slice(0, 4),
].flatMap((size) =>
  [true, false].map((seven) => ({
    ...size,
    seven,
    imageZero: seven ? 64 : 128,
  }))
);

/** An upsampling layer of DCGAN (Radford et al. 2016, figure 1). */
export const CONV_TRANSPOSE = [{
  rows: 1,
  shape: transposedShape({
    height: 16,
    width: 16,
    channels: 256,
    outChannels: 128,
    kernel: 4,
    stride: 2,
    pads: [1, 1, 1, 1],
  }),
}];

/** ResNet-50's pooling after its first convolution, a 2x2, and its global one. */
export const POOLS = [
  layer([112, 64, 64, 3, 2]),
  {
    rows: 1,
    shape: imageShape({
      height: 56,
      width: 56,
      channels: 128,
      kernel: 2,
      stride: 2,
    }),
  },
  {
    rows: 1,
    shape: imageShape({ height: 7, width: 7, channels: 2048, kernel: 7 }),
  },
];

/** A feature map to twice its size. */
export const RESIZES = [{
  rows: 1,
  height: 56,
  width: 56,
  channels: 64,
  outHeight: 112,
  outWidth: 112,
}];

/** A window of speech at 16 kHz, and a long one. */
export const FFTS = [
  ...[1, 16, 64].map((rows) => ({ rows, n: 512 })),
  { rows: 16, n: 4096 },
];
