/** Kernels over images, [height][width][channels] a row. */
import { ACTIVATIONS } from "../module/activations.ts";
import { Q8_K_MAX } from "../pack/pack_q8.ts";
import { packedConvQ8Words } from "../pack/pack_q8_conv.ts";
import { PANEL_COLUMNS } from "../pack/panels.ts";
import {
  along,
  byRows,
  BYTES_PER_NS,
  type CutKernel,
  type CutSpec,
  ELEMENTS_PER_NS,
  type FamilySpecs,
  FLOPS_PER_NS,
  type LinesCut,
  Q8_OPS_PER_NS,
} from "./kernel_spec.ts";
import {
  array,
  choice,
  flag,
  float,
  type FromSizes,
  m,
  packed,
  type Parameter,
  rowsIn,
  rowsOut,
  type ShapeParameter,
  size,
  type Sizes,
} from "./signature.ts";

const input = rowsIn("inRows", ["height", "width", "channels"]);
const OUTPUT = ["outHeight", "outWidth", "outChannels"];
/** Output with the input's channels. */
const kept = rowsOut("outRows", ["outHeight", "outWidth", "channels"]);
const act = choice("act", ACTIVATIONS);
const taps = ({ kernelHeight, kernelWidth }: Sizes) =>
  kernelHeight * kernelWidth;
const shape = (grouped: boolean): ShapeParameter => ({
  kind: "shape",
  name: "shape",
  grouped,
});
/** Operations of a window over all output pixels. */
const windowFlops = (sizes: Sizes, channels: number) =>
  2 * sizes.m * sizes.outHeight * sizes.outWidth * channels * taps(sizes);

/** Output pixels that share what is read of the weights. */
const TILE_PIXELS = 20;

/** A convolution whose packed panels of 8 columns start with so many rows of biases. */
function convolution(
  biases: (sizes: Sizes) => number,
  packer: string,
  cuts: readonly CutSpec[],
): CutKernel {
  const words: FromSizes = (sizes) => {
    const { groups, channels, outChannels } = sizes;
    return groups * Math.ceil(outChannels / groups / PANEL_COLUMNS) *
      PANEL_COLUMNS * (biases(sizes) + taps(sizes) * channels / groups);
  };
  return {
    parameters: [
      m,
      shape(true),
      input,
      packed(words, packer),
      rowsIn("residualRows", OUTPUT, { optional: true }),
      rowsOut("outRows", OUTPUT),
      act,
      array(
        "scratch",
        ({ shape }, kernels) => kernels.conv_scratch_bytes(shape) / 4,
        { access: "scratch", alignment: 16, from: "conv_scratch_bytes()" },
      ),
    ],
    cuts: [byRows(), ...cuts],
    nanoseconds: (sizes) =>
      windowFlops(sizes, sizes.outChannels * sizes.channels / sizes.groups) /
      FLOPS_PER_NS,
  };
}

const lines = (
  pixels: number,
  direction: LinesCut["direction"] = "forward",
): LinesCut => ({ by: "lines", pixels, direction });

const q8Image = ["height", "width", "channels"];

/** A convolution of int8; its results are `type`, behind `more` come arguments of its own. */
function convolutionQ8(
  type: "f32" | "i32" | "q8",
  ...more: readonly Parameter[]
): CutKernel {
  return {
    parameters: [
      m,
      shape(true),
      flag("seven"),
      rowsIn("inRows", q8Image, { type: "q8" }),
      packed(
        (sizes) =>
          packedConvQ8Words({
            channels: sizes.channels,
            outChannels: sizes.outChannels,
            groups: sizes.groups,
            taps: taps(sizes),
          }),
        "packConvQ8()",
        { type: "i32" },
      ),
      rowsOut("outRows", OUTPUT, { type }),
      ...more,
      array(
        "scratch",
        ({ shape }, kernels) => kernels.conv_q8_scratch_bytes(shape) / 4,
        { access: "scratch", alignment: 16, from: "conv_q8_scratch_bytes()" },
      ),
    ],
    relation(sizes) {
      const products = taps(sizes) * sizes.channels / sizes.groups;
      return products <= Q8_K_MAX
        ? undefined
        : `windows have ${products} numbers, and sums of more than ${Q8_K_MAX} products may not fit 32 bits: split the channels and add the results`;
    },
    // Bytes of an image end with their sum, which takes the whole image.
    cuts: type === "q8"
      ? [byRows()]
      : [byRows(), { by: "pixels", pixels: TILE_PIXELS }, lines(TILE_PIXELS)],
    nanoseconds: (sizes) =>
      windowFlops(sizes, sizes.outChannels * sizes.channels / sizes.groups) /
      Q8_OPS_PER_NS,
  };
}

/** Windows of which every channel is computed by itself. */
function window(...more: readonly Parameter[]): CutKernel {
  return {
    parameters: [m, shape(false), ...more],
    cuts: [byRows(), lines(1)],
    nanoseconds: (sizes) => windowFlops(sizes, sizes.channels) / BYTES_PER_NS,
  };
}

/** Indices of one axis, four words each if linear. */
const indices = (name: string, to: string, from: string, linear: boolean) =>
  array(name, linear ? [to, 4] : to, {
    type: "i32",
    from: linear ? "resizeLinear()" : "resizeNearest()",
    below: {
      limit: (sizes) => sizes[from],
      offsets: linear ? [0, 1] : [0],
      stride: linear ? 4 : 1,
    },
  });

function resize(linear: boolean): CutKernel {
  return {
    parameters: [
      m,
      size("height"),
      size("width"),
      size("channels"),
      size("outHeight"),
      size("outWidth"),
      input,
      indices("lines", "outHeight", "height", linear),
      indices("columns", "outWidth", "width", linear),
      kept,
    ],
    cuts: [byRows(), along("outHeight", 1)],
    nanoseconds: ({ m, channels, outHeight, outWidth }) =>
      m * channels * outHeight * outWidth / ELEMENTS_PER_NS,
  };
}

export const IMAGES = {
  conv_f32: convolution(() => 1, "packConv()", [
    { by: "pixels", pixels: TILE_PIXELS },
    lines(TILE_PIXELS),
  ]),
  conv_transpose_f32: convolution(
    ({ strideHeight, strideWidth }) => strideHeight * strideWidth,
    "packConvTranspose()",
    [lines(TILE_PIXELS, "transposed")],
  ),
  depthwise_f32: window(
    input,
    packed(
      (sizes) => Math.ceil(sizes.channels / 4) * 4 * (1 + taps(sizes)),
      "packDepthwise()",
    ),
    kept,
    act,
  ),
  conv_q8_f32: convolutionQ8("f32", act),
  conv_q8_i32: convolutionQ8("i32"),
  conv_q8_u8: convolutionQ8(
    "q8",
    act,
    float("scale", true),
    size("zero", 0, { most: 255 }),
  ),
  pool_max_f32: window(input, kept),
  pool_average_f32: window(flag("countPadding"), input, kept),
  resize_nearest_f32: resize(false),
  resize_linear_f32: resize(true),
} satisfies FamilySpecs;
