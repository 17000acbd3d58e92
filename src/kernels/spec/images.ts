import { ACTIVATIONS } from "../module/activations.ts";
import {
  array,
  choice,
  flag,
  type FromSizes,
  m,
  maybeRowsIn,
  packed,
  rowsIn,
  rowsOut,
  type ShapeParameter,
  type Signatures,
  size,
  type Sizes,
} from "./signature.ts";

const input: FromSizes = ({ height, width, channels }) =>
  height! * width! * channels!;
const output: FromSizes = ({ outHeight, outWidth, outChannels }) =>
  outHeight! * outWidth! * outChannels!;
/** Output with the input's channels. */
const kept: FromSizes = ({ outHeight, outWidth, channels }) =>
  outHeight! * outWidth! * channels!;
const act = choice("act", ACTIVATIONS);
const taps = ({ kernelHeight, kernelWidth }: Sizes) =>
  kernelHeight! * kernelWidth!;
const panels = ({ groups, outChannels }: Sizes) =>
  groups! * Math.ceil(outChannels! / groups! / 8);
const groupChannels = ({ groups, channels }: Sizes) => channels! / groups!;
const shape = (grouped: boolean): ShapeParameter => ({
  kind: "shape",
  name: "shape",
  grouped,
});

const convolution = (words: FromSizes, packer: string) => [
  m,
  shape(true),
  rowsIn("inRows", input),
  packed("w", words, packer),
  maybeRowsIn("residualRows", output),
  rowsOut("outRows", output),
  act,
  array(
    "scratch",
    (sizes, kernels) => kernels.conv_scratch_bytes(sizes.shape!) / 4,
    { access: "scratch", alignment: 16, from: "conv_scratch_bytes()" },
  ),
];

/** Indices of one axis, four words each if linear. */
const indices = (
  name: string,
  [to, from]: readonly [to: string, from: string],
  linear: boolean,
) =>
  array(name, (sizes) => (linear ? 4 : 1) * sizes[to]!, {
    type: "i32",
    from: linear ? "resizeLinear()" : "resizeNearest()",
    below: {
      limit: (sizes) => sizes[from]!,
      offsets: linear ? [0, 1] : [0],
      stride: linear ? 4 : 1,
    },
  });
const resize = (linear: boolean) => [
  m,
  size("height"),
  size("width"),
  size("channels"),
  size("outHeight"),
  size("outWidth"),
  rowsIn("inRows", input),
  indices("lines", ["outHeight", "height"], linear),
  indices("columns", ["outWidth", "width"], linear),
  rowsOut("outRows", kept),
];

/** Their names. */
export type ImageKernel =
  | "conv_f32"
  | "conv_transpose_f32"
  | "depthwise_f32"
  | "pool_max_f32"
  | "pool_average_f32"
  | "resize_nearest_f32"
  | "resize_linear_f32";

/** Kernels over images. */
export const IMAGES: Signatures<ImageKernel> = {
  conv_f32: convolution(
    (sizes) => panels(sizes) * 8 * (1 + taps(sizes) * groupChannels(sizes)),
    "packConv()",
  ),
  conv_transpose_f32: convolution(
    (sizes) =>
      panels(sizes) * 8 *
      (sizes.strideHeight! * sizes.strideWidth! +
        taps(sizes) * groupChannels(sizes)),
    "packConvTranspose()",
  ),
  depthwise_f32: [
    m,
    shape(false),
    rowsIn("inRows", input),
    packed(
      "w",
      (sizes) => Math.ceil(sizes.channels! / 4) * 4 * (1 + taps(sizes)),
      "packDepthwise()",
    ),
    rowsOut("outRows", kept),
    act,
  ],
  pool_max_f32: [
    m,
    shape(false),
    rowsIn("inRows", input),
    rowsOut("outRows", kept),
  ],
  pool_average_f32: [
    m,
    shape(false),
    flag("countPadding"),
    rowsIn("inRows", input),
    rowsOut("outRows", kept),
  ],
  resize_nearest_f32: resize(false),
  resize_linear_f32: resize(true),
};
