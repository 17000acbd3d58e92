import type { ImageShape } from "../../../src/tensor/image_shape.ts";
import {
  convScratchBytes,
  shapeWords,
} from "../../../src/kernels/pack/image_words.ts";
import {
  type CaseFamily,
  caseFamily,
  drawFloats,
  drawName,
  drawRows,
  drawWeights,
  rowOf,
} from "../kernel_case.ts";
import { floatsOf, transposed } from "../equivalent.ts";
import {
  type Activation,
  ACTIVATIONS,
} from "../../../src/kernels/module/activations.ts";
import {
  packConv,
  packConvTranspose,
  packDepthwise,
} from "../../../src/kernels/pack/pack_conv.ts";
import { activate } from "../reference/activation.ts";
import { conv, convTranspose } from "../reference/image.ts";
import {
  drawShape,
  imageEquivalent,
  images,
  label,
  windowAttributes,
} from "./images.ts";

/** A convolution case: its window, and what is fused into it. */
export interface ConvCaseSize {
  shape: ImageShape;
  act?: Activation;
  residual?: boolean;
}

const EXACT_ACTIVATIONS = ["none", "relu"] as const;

/** Convolution or transposed convolution, with and without residual. */
function convolution(
  name: "conv_f32" | "conv_transpose_f32",
): CaseFamily<ConvCaseSize> {
  const turned = name === "conv_transpose_f32";
  return caseFamily<ConvCaseSize>(
    (draw) => ({
      shape: drawShape(draw, turned ? "transposed" : "conv"),
      act: drawName(draw, ACTIVATIONS, EXACT_ACTIVATIONS),
      residual: draw.prng.int(2) === 1,
    }),
    (draw, { shape, act = "none", residual: adds = false }) => {
      const { rows, exact } = draw;
      const { groups, outChannels, kernel: [kh, kw] } = shape;
      const taps = kh * kw;
      const own = shape.channels / groups;
      const k = taps * own;
      const weight = drawWeights(draw, k * outChannels, k);
      const bias = drawFloats(draw, outChannels);
      const a = images(draw, shape);
      const width = shape.outHeight * shape.outWidth * outChannels;
      const residual = adds ? drawRows(draw, width) : undefined;
      const naive = turned ? convTranspose : conv;
      // A transposed convolution multiplies every input pixel with every tap.
      const sums = turned
        ? shape.height * shape.width * shape.channels * taps *
          (outChannels / groups)
        : width * k;
      return {
        label: label(rows, shape),
        rows,
        inputs: { a, ...(residual && { residual }) },
        blocks: {
          shape: shapeWords(shape),
          w: (turned ? packConvTranspose : packConv)(shape, {
            weight,
            bias,
          }),
        },
        scratch: { scratch: convScratchBytes(shape) },
        results: { out: { width, type: "f32" } },
        call: (kernels, at, m) =>
          kernels[name](
            m,
            at.shape,
            at.a,
            at.w,
            at.residual ?? 0,
            at.out,
            ACTIVATIONS[act],
            at.scratch,
          ),
        expected: () => ({
          out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
            Array.from(
              naive(shape, rowOf(a, i), weight, bias),
              (sum, j) =>
                activate(act, sum + (residual ? rowOf(residual, i)[j] : 0)),
            )
          ),
        }),
        tolerance: exact ? 0 : 2 ** -23 * (k + 8),
        work: { count: 2 * rows * sums, unit: "GFLOP/s" },
        ...(act === "none" && !adds && {
          equivalent: () =>
            imageEquivalent(
              rows,
              shape,
              a.data as Float32Array,
              {
                opType: turned ? "ConvTranspose" : "Conv",
                attributes: {
                  ...windowAttributes(shape),
                  group: groups,
                  ...(turned && { output_padding: extraLines(shape) }),
                },
              },
              [
                {
                  name: "w",
                  shape: turned
                    ? [shape.channels, outChannels / groups, kh, kw]
                    : [outChannels, own, kh, kw],
                  data: weight,
                },
                { name: "b", shape: [outChannels], data: bias },
              ],
            ),
        }),
      };
    },
  );
}

/** Lines and columns that a transposed convolution adds at the bottom and the right. */
function extraLines(shape: ImageShape): [number, number] {
  const { kernel, stride, dilation, pads } = shape;
  const extra = (input: number, output: number, axis: 0 | 1) =>
    output - (input - 1) * stride[axis] + pads[axis] + pads[axis + 2] -
    (kernel[axis] - 1) * dilation[axis] - 1;
  return [
    extra(shape.height, shape.outHeight, 0),
    extra(shape.width, shape.outWidth, 1),
  ];
}

/** Convolution with groups, strides, dilations and pads. */
export const convCase = convolution("conv_f32");

/** Transposed convolution. */
export const convTransposeCase = convolution("conv_transpose_f32");

/** Convolution from and to NCHW: ours with the changes of layout before and after it. */
export const nchwConvCase = caseFamily<{ shape: ImageShape }>(
  (draw) => ({ shape: drawShape(draw, "conv") }),
  (draw, { shape }) => {
    const { height, width, channels, outHeight, outWidth, outChannels } = shape;
    const inside = convCase.of(draw, { shape });
    const [pixels, outPixels] = [height * width, outHeight * outWidth];
    const plain = inside.equivalent!();
    return {
      ...inside,
      inputs: {
        planes: {
          width: pixels * channels,
          data: plain.inputs[0].data as Float32Array,
        },
      },
      results: {
        a: { width: pixels * channels, type: "f32" },
        out: inside.results.out,
        outPlanes: inside.results.out,
      },
      call(kernels, at, m) {
        const { planes, a, out, outPlanes } = at;
        kernels.transpose_rows_f32(m, channels, pixels, planes, a);
        inside.call(kernels, at, m);
        kernels.transpose_rows_f32(
          m,
          outPixels,
          outChannels,
          out,
          outPlanes,
        );
      },
      expected() {
        const { out } = inside.expected() as { out: ArrayLike<number> };
        return { out, outPlanes: transposed(out, outPixels, outChannels) };
      },
      equivalent: () => ({
        ...plain,
        outputs: [{ ...plain.outputs[0], of: floatsOf("outPlanes") }],
        nchw: true,
      }),
    };
  },
);

/** Depthwise convolution. */
export const depthwiseCase = caseFamily<ConvCaseSize>(
  (draw) => ({
    shape: drawShape(draw, "depthwise"),
    act: drawName(draw, ACTIVATIONS, EXACT_ACTIVATIONS),
  }),
  (draw, { shape, act = "none" }) => {
    const { rows, exact } = draw;
    const { channels, kernel: [kh, kw] } = shape;
    const taps = kh * kw;
    const weight = drawWeights(draw, taps * channels, taps);
    const bias = drawFloats(draw, channels);
    const a = images(draw, shape);
    const width = shape.outHeight * shape.outWidth * channels;
    return {
      label: label(rows, shape),
      rows,
      inputs: { a },
      blocks: {
        shape: shapeWords(shape),
        w: packDepthwise(shape, { weight, bias }),
      },
      results: { out: { width, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.depthwise_f32(
          m,
          at.shape,
          at.a,
          at.w,
          at.out,
          ACTIVATIONS[act],
        ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
          Array.from(
            conv(shape, rowOf(a, i), weight, bias),
            (sum) => activate(act, sum),
          )
        ),
      }),
      tolerance: exact ? 0 : 2 ** -23 * (taps + 8),
      work: { count: 2 * rows * width * taps, unit: "GFLOP/s" },
      ...(act === "none" && {
        equivalent: () =>
          imageEquivalent(
            rows,
            shape,
            a.data as Float32Array,
            {
              opType: "Conv",
              attributes: { ...windowAttributes(shape), group: channels },
            },
            [
              { name: "w", shape: [channels, 1, kh, kw], data: weight },
              { name: "b", shape: [channels], data: bias },
            ],
          ),
      }),
    };
  },
);
