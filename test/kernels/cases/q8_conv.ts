/** int8 convolutions: images are quantised rows, each with its own scale and zero point. */
import {
  type Activation,
  ACTIVATIONS,
} from "../../../src/kernels/module/activations.ts";
import { shapeWords } from "../../../src/kernels/pack/image_words.ts";
import {
  convQ8ScratchBytes,
  packConvQ8,
} from "../../../src/kernels/pack/pack_q8_conv.ts";
import {
  type ImageShape,
  imageShape,
} from "../../../src/tensor/image_shape.ts";
import { type Equivalent, integersOf, transposed } from "../equivalent.ts";
import {
  type CaseDraw,
  type CaseFamily,
  caseFamily,
  drawFloats,
  type KernelCase,
} from "../kernel_case.ts";
import { activate } from "../reference/activation.ts";
import { conv } from "../reference/image.ts";
import {
  type QuantizedRow,
  quantizedWords,
  quantizeStatic,
} from "../reference/q8.ts";
import { drawShape, label, windowAttributes } from "./images.ts";
import { drawActivations, drawBytes, drawZeros } from "./q8.ts";

/** An int8 convolution case; `seven`: activations of 7 bits. */
export interface ConvQ8CaseSize {
  shape: ImageShape;
  seven: boolean;
  /** Zero point of all images, which peers demand; drawn for every image if absent. */
  imageZero?: number;
}

/** A shape: one in four depthwise, one in four of pixels that are read in place. */
function drawWindow(draw: CaseDraw): ImageShape {
  const { prng } = draw;
  const kind = prng.int(4);
  if (kind > 1) return drawShape(draw, "conv");
  if (kind === 1) return drawShape(draw, "depthwise");
  const [height, width, channels, outChannels] = [6, 9, 7, 19]
    .map((most) => 1 + prng.int(most));
  const kernel = 1;
  return imageShape({
    ...{ height, width, channels: 4 * channels, outChannels, kernel },
  });
}

/** int8 convolution to f32, exact i32 or requantised bytes. */
export function convQ8Case(
  name: "conv_q8_f32" | "conv_q8_i32" | "conv_q8_u8",
): CaseFamily<ConvQ8CaseSize> {
  return caseFamily<ConvQ8CaseSize>(
    (draw) => ({
      shape: drawWindow(draw),
      seven: draw.prng.int(2) === 1,
    }),
    (draw, { shape, seven, imageZero }) => {
      const { prng, rows, exact } = draw;
      const alike = imageZero !== undefined;
      const { groups, outChannels, kernel: [kh, kw] } = shape;
      const own = shape.channels / groups;
      const k = kh * kw * own;
      const bits = seven ? 128 : 256;
      const pixels = shape.height * shape.width * shape.channels;
      const images = Array.from({ length: rows }, (): QuantizedRow => ({
        scale: exact ? 1 : Math.fround(0.01 + prng.float() / 50),
        zero: imageZero ?? prng.int(bits),
        q: drawActivations(prng, pixels, bits),
      }));
      const values = drawBytes(draw, { n: outChannels, k });
      const zero = alike
        ? new Int32Array(outChannels)
        : drawZeros(prng, outChannels);
      const scale = Float32Array.from(
        { length: outChannels },
        () => exact ? 1 : (0.5 + prng.float()) / 128 / Math.sqrt(k),
      );
      // Peers know no activation here, and biases as integers alone.
      const bias = alike
        ? new Float32Array(outChannels)
        : drawFloats(draw, outChannels);
      const act: Activation = exact ? "relu" : "tanh";
      const byteAct: Activation = alike ? "none" : "relu";
      const [outScale, outZero] = [Math.fround(1 / 128), 100];
      const width = 4 + Math.ceil(pixels / 4);
      const data = new Int32Array(rows * width);
      images.forEach((image, i) => data.set(quantizedWords(image), i * width));
      const outWidth = shape.outHeight * shape.outWidth * outChannels;
      const weight = Float32Array.from(
        values,
        (value, i) => value - zero[Math.floor(i / k)],
      );
      /** Exact: numbers are integers below 2^53. */
      const sums = (i: number) => {
        const { zero, q } = images[i];
        return conv(
          shape,
          Float32Array.from(q, (value) => value - zero),
          weight,
          new Float32Array(outChannels),
        );
      };
      /** The sum scaled and biased, rounded as the kernel rounds. */
      const scaled = (i: number) =>
        Array.from(sums(i), (sum, at) => {
          const channel = at % outChannels;
          return Math.fround(
            Math.fround(
              Math.fround(sum) *
                Math.fround(images[i].scale * scale[channel]),
            ) + bias[channel],
          );
        });
      const each = (values: (i: number) => ArrayLike<number>) =>
        Array.from({ length: rows }, (_, i) => Array.from(values(i))).flat();
      const kernelCase: KernelCase = {
        label: `${label(rows, shape)} ${seven ? 7 : 8} bits`,
        rows,
        inputs: { a: { width, data } },
        blocks: {
          shape: shapeWords(shape),
          w: packConvQ8(shape, { values, scale, zero, bias }),
        },
        scratch: { scratch: convQ8ScratchBytes(shape) },
        results: {
          out: name === "conv_q8_u8"
            ? { width: 4 + Math.ceil(outWidth / 4), type: "i32" }
            : {
              width: outWidth,
              type: name === "conv_q8_f32" ? "f32" : "i32",
            },
        },
        call(kernels, at, m) {
          const { shape, a, w, out, scratch } = at;
          const common = [m, shape, seven ? 1 : 0, a, w, out] as const;
          if (name === "conv_q8_f32") {
            kernels.conv_q8_f32(...common, ACTIVATIONS[act], scratch);
          } else if (name === "conv_q8_i32") {
            kernels.conv_q8_i32(...common, scratch);
          } else {
            kernels.conv_q8_u8(
              ...common,
              ACTIVATIONS[byteAct],
              outScale,
              outZero,
              scratch,
            );
          }
        },
        expected: () => ({
          out: name === "conv_q8_f32"
            ? each((i) => scaled(i).map((x) => activate(act, x)))
            : name === "conv_q8_i32"
            ? each(sums)
            // Neither relu nor none rounds, so that bytes are equal, not just close.
            : each((i) =>
              quantizedWords(
                quantizeStatic(
                  scaled(i).map((x) => activate(byteAct, x)),
                  outScale,
                  outZero,
                ),
              )
            ),
        }),
        tolerance: name === "conv_q8_f32" && !exact ? 2 ** -20 : 0,
        work: { count: 2 * rows * outWidth * k, unit: "GOP/s" },
      };
      if (name === "conv_q8_f32" || imageZero === undefined) return kernelCase;
      const wanted = {
        shape,
        values,
        scale,
        images,
        ...{ outScale, outZero },
      };
      return {
        ...kernelCase,
        equivalent: () =>
          name === "conv_q8_i32" ? integerConv(wanted) : linearConv(wanted),
      };
    },
  );
}

/** What peers need of a case whose weights have no zero points and whose images share theirs. */
interface Wanted {
  shape: ImageShape;
  values: Int8Array;
  scale: Float32Array;
  images: readonly QuantizedRow[];
  outScale: number;
  outZero: number;
}

const scalar = <Data extends Float32Array | Uint8Array>(
  name: string,
  type: "f32" | "u8",
  data: Data,
) => ({ name, shape: [], type, data });

function operandsOf({ shape, values, images }: Wanted) {
  const { outChannels, channels, groups, kernel, height, width } = shape;
  return {
    w: {
      name: "w",
      shape: [outChannels, channels / groups, ...kernel],
      type: "i8" as const,
      data: values,
    },
    xZero: scalar("xZero", "u8", Uint8Array.of(images[0].zero)),
    inputs: [{
      name: "x",
      shape: [images.length, channels, height, width],
      type: "u8" as const,
      data: Uint8Array.from(
        images.flatMap(({ q }) =>
          Array.from(transposed(q, height * width, channels))
        ),
      ),
    }],
    attributes: { ...windowAttributes(shape), group: groups },
    outShape: [images.length, outChannels, shape.outHeight, shape.outWidth],
  };
}

/** ConvInteger. */
function integerConv(wanted: Wanted): Equivalent {
  const { w, xZero, inputs, attributes, outShape } = operandsOf(wanted);
  const { outHeight, outWidth, outChannels } = wanted.shape;
  return {
    nodes: [{
      opType: "ConvInteger",
      inputs: ["x", "w", "xZero"],
      outputs: ["y"],
      attributes,
    }],
    constants: [w, xZero],
    inputs,
    outputs: [{
      name: "y",
      shape: outShape,
      type: "i32",
      of: (own) =>
        transposed(integersOf("out")(own), outHeight * outWidth, outChannels),
    }],
    // Of f32, in which our results are turned.
    tolerance: 2 ** -23,
  };
}

/** QLinearConv; images of one scale. */
function linearConv(wanted: Wanted): Equivalent {
  const { w, xZero, inputs, attributes, outShape } = operandsOf(wanted);
  const { outHeight, outWidth, outChannels } = wanted.shape;
  const { scale, images, outScale, outZero } = wanted;
  const size = outHeight * outWidth * outChannels;
  const rowBytes = 16 + 4 * Math.ceil(size / 4);
  return {
    nodes: [{
      opType: "QLinearConv",
      inputs: [
        ...["x", "xScale", "xZero", "w", "wScale", "wZero"],
        ...["yScale", "yZero"],
      ],
      outputs: ["y"],
      attributes,
    }],
    constants: [
      w,
      xZero,
      scalar("xScale", "f32", Float32Array.of(images[0].scale)),
      { name: "wScale", shape: [outChannels], data: scale },
      {
        name: "wZero",
        shape: [outChannels],
        type: "i8",
        data: new Int8Array(outChannels),
      },
      scalar("yScale", "f32", Float32Array.of(outScale)),
      scalar("yZero", "u8", Uint8Array.of(outZero)),
    ],
    inputs,
    outputs: [{
      name: "y",
      shape: outShape,
      type: "u8",
      of(own) {
        const { buffer, byteOffset } = own("out");
        const bytes = images.flatMap((_, i) =>
          Array.from(
            new Uint8Array(buffer, byteOffset + i * rowBytes + 16, size),
          )
        );
        return transposed(bytes, outHeight * outWidth, outChannels);
      },
    }],
    // Peers multiply by the product of scales: a byte may be the next one.
    tolerance: 1,
  };
}
