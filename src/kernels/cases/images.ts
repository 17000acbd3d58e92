import {
  type ImageShape,
  imageShape,
  shapeWords,
  transposedShape,
} from "../image_shape.ts";
import {
  type CaseDraw,
  type CaseGenerator,
  drawFloats,
  drawRows,
  drawWeights,
  type KernelCase,
  rowOf,
} from "../kernel_case.ts";
import { type Activation, ACTIVATIONS } from "../exports.ts";
import { packConv, packConvTranspose, packDepthwise } from "../pack_conv.ts";
import { activate } from "../reference/activation.ts";
import { conv, convTranspose, pool } from "../reference/image.ts";
import { resizeLinear, resizeNearest } from "../resize_tables.ts";

/** A shape whose window fits, small enough for many images. */
function drawShape(
  { prng }: CaseDraw,
  kind: "conv" | "depthwise" | "transposed" | "pool",
): ImageShape {
  const one = () => 1 + prng.int(2);
  const kernel = [1 + prng.int(4), 1 + prng.int(4)] as const;
  const dilation = [one(), one()] as const;
  const pads = [0, 0, 0, 0].map((_, i) =>
    prng.int(1 + (kernel[i % 2]! >> 1))
  ) as [
    number,
    number,
    number,
    number,
  ];
  // At least one output pixel, whatever the pads.
  const size = (axis: 0 | 1) =>
    (kernel[axis] - 1) * dilation[axis] + 1 + prng.int(5);
  const groups = kind === "pool" || kind === "depthwise" ? 1 : one();
  const channels = groups *
    (1 + prng.int({ conv: 12, transposed: 9, pool: 9, depthwise: 40 }[kind]));
  const window = {
    height: size(0),
    width: size(1),
    channels,
    kernel,
    dilation,
    pads,
    stride: [one(), one()] as const,
    groups: kind === "depthwise" ? channels : groups,
    ...(kind === "conv" || kind === "transposed"
      ? { outChannels: groups * (1 + prng.int(18)) }
      : {}),
  };
  return kind === "transposed" ? transposedShape(window) : imageShape(window);
}

/** Tables, zeros, pointers and patches of the largest drawn shape. */
function scratchBytes({ channels, kernel: [kh, kw] }: ImageShape): number {
  const taps = kh * kw;
  return 4 * channels + (taps + 2) * 480 + 4 * taps +
    480 * taps * Math.min(channels, 64);
}

function images(draw: CaseDraw, { height, width, channels }: ImageShape) {
  return drawRows(draw, height * width * channels);
}

function drawActivation({ prng, exact }: CaseDraw): Activation {
  const names = exact ? ["none", "relu"] : Object.keys(ACTIVATIONS);
  return names[prng.int(names.length)] as Activation;
}

function label(rows: number, shape: ImageShape): string {
  return `m=${rows} ${JSON.stringify(shape)}`;
}

/** Convolution or transposed convolution, with and without residual. */
function convolution(
  name: "conv_f32" | "conv_transpose_f32",
): CaseGenerator {
  const transposed = name === "conv_transpose_f32";
  return (draw): KernelCase => {
    const { prng, rows, exact } = draw;
    const shape = drawShape(draw, transposed ? "transposed" : "conv");
    const taps = shape.kernel[0] * shape.kernel[1];
    const k = taps * shape.channels / shape.groups;
    const weight = drawWeights(draw, k * shape.outChannels, k);
    const bias = drawFloats(draw, shape.outChannels);
    const act = drawActivation(draw);
    const a = images(draw, shape);
    const width = shape.outHeight * shape.outWidth * shape.outChannels;
    const residual = prng.int(2) === 0 ? undefined : drawRows(draw, width);
    const naive = transposed ? convTranspose : conv;
    return {
      label: label(rows, shape),
      rows,
      inputs: { a, ...(residual && { residual }) },
      blocks: {
        shape: shapeWords(shape),
        w: (transposed ? packConvTranspose : packConv)(shape, { weight, bias }),
      },
      scratch: { scratch: scratchBytes(shape) },
      results: { out: { width, type: "f32" } },
      call: (kernels, at, m) =>
        kernels[name](
          m,
          at.shape!,
          at.a!,
          at.w!,
          at.residual ?? 0,
          at.out!,
          ACTIVATIONS[act],
          at.scratch!,
        ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
          Array.from(
            naive(shape, rowOf(a, i), weight, bias),
            (sum, j) =>
              activate(act, sum + (residual ? rowOf(residual, i)[j]! : 0)),
          )
        ),
      }),
      tolerance: exact ? 0 : 2 ** -23 * (k + 8),
      flops: 2 * rows * width * k,
    };
  };
}

/** Convolution with groups, strides, dilations and pads. */
export const convCase = convolution("conv_f32");

/** Transposed convolution. */
export const convTransposeCase = convolution("conv_transpose_f32");

/** Depthwise convolution. */
export const depthwiseCase: CaseGenerator = (draw) => {
  const { rows, exact } = draw;
  const shape = drawShape(draw, "depthwise");
  const taps = shape.kernel[0] * shape.kernel[1];
  const weight = drawWeights(draw, taps * shape.channels, taps);
  const bias = drawFloats(draw, shape.channels);
  const act = drawActivation(draw);
  const a = images(draw, shape);
  const width = shape.outHeight * shape.outWidth * shape.channels;
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
        at.shape!,
        at.a!,
        at.w!,
        at.out!,
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
    flops: 2 * rows * width * taps,
  };
};

/** Max or average pooling; global pooling now and then. */
export function poolCase(
  kind: "max" | "average" | "averageWithPadding",
): CaseGenerator {
  return (draw) => {
    const { prng, rows } = draw;
    const drawn = drawShape(draw, "pool");
    const { height, width, channels } = drawn;
    const shape = prng.int(4) === 0
      ? imageShape({ height, width, channels, kernel: [height, width] })
      : drawn;
    const a = images(draw, shape);
    return {
      label: `${kind} ${label(rows, shape)}`,
      rows,
      inputs: { a },
      blocks: { shape: shapeWords(shape) },
      results: {
        out: {
          width: shape.outHeight * shape.outWidth * channels,
          type: "f32",
        },
      },
      call: (kernels, at, m) =>
        kind === "max"
          ? kernels.pool_max_f32(m, at.shape!, at.a!, at.out!)
          : kernels.pool_average_f32(
            m,
            at.shape!,
            kind === "average" ? 0 : 1,
            at.a!,
            at.out!,
          ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i)
          .flatMap((i) => Array.from(pool(kind, shape, rowOf(a, i)))),
      }),
      tolerance: kind === "max" ? 0 : 2 ** -23 * 64,
      flops: 0,
    };
  };
}

/** Resizing by tables; the reference reads the same tables. */
export function resizeCase(
  name: "resize_nearest_f32" | "resize_linear_f32",
): CaseGenerator {
  return (draw) => {
    const { prng, rows } = draw;
    const [height, width, channels, outHeight, outWidth] = Array.from(
      { length: 5 },
      () => 1 + prng.int(9),
    ) as [number, number, number, number, number];
    const make = name === "resize_nearest_f32" ? resizeNearest : resizeLinear;
    const lines = make({ input: height, output: outHeight });
    const columns = make({ input: width, output: outWidth });
    const a = drawRows(draw, height * width * channels);
    return {
      label:
        `m=${rows} ${height}x${width}x${channels} to ${outHeight}x${outWidth}`,
      rows,
      inputs: { a },
      blocks: { lines, columns },
      results: {
        out: { width: outHeight * outWidth * channels, type: "f32" },
      },
      call: (kernels, at, m) =>
        kernels[name](
          m,
          height,
          width,
          channels,
          outHeight,
          outWidth,
          at.a!,
          at.lines!,
          at.columns!,
          at.out!,
        ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i).flatMap((i) => {
          const pixel = (y: number, x: number, c: number) =>
            rowOf(a, i)[(y * width + x) * channels + c]!;
          return Array.from(
            { length: outHeight * outWidth * channels },
            (_, j) => {
              const c = j % channels;
              const x = Math.floor(j / channels) % outWidth;
              const y = Math.floor(j / channels / outWidth);
              if (name === "resize_nearest_f32") {
                return pixel(lines[y]!, columns[x]!, c);
              }
              const weights = (table: Int32Array, at: number) => {
                const floats = new Float32Array(table.buffer);
                return [0, 1].map((side) => [
                  table[4 * at + side]!,
                  floats[4 * at + 2 + side]!,
                ]) as [number, number][];
              };
              let sum = 0;
              for (const [line, wy] of weights(lines, y)) {
                for (const [column, wx] of weights(columns, x)) {
                  sum += wy * wx * pixel(line, column, c);
                }
              }
              return sum;
            },
          );
        }),
      }),
      tolerance: name === "resize_nearest_f32" ? 0 : 2 ** -21,
      flops: 0,
    };
  };
}
