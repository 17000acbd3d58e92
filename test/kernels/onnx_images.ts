/** ONNX operators over images as calls of our kernels; see onnx_operators.ts. */
import { shapeWords } from "../../src/kernels/pack/image_words.ts";
import {
  packConv,
  packConvTranspose,
} from "../../src/kernels/pack/pack_conv.ts";
import {
  type ImageShape,
  imageShape,
  transposedShape,
} from "../../src/tensor/image_shape.ts";
import {
  type CoordinateMode,
  type NearestMode,
  type ResizeAxis,
  resizeLinear,
  resizeNearest,
} from "../../src/kernels/pack/resize_tables.ts";
import {
  type Adapter,
  input,
  type OnnxCase,
  type OnnxTensor,
} from "./onnx_case.ts";
import type { OnnxHost } from "./onnx_host.ts";

type Images = ArrayLike<number>;

/** [n][c][pixels] to [n][pixels][c]; the other way round with c and pixels exchanged. */
function swap(data: Images, n: number, c: number): Float32Array {
  const pixels = data.length / n / c;
  return Float32Array.from(data, (_, i) => {
    const image = Math.floor(i / (c * pixels));
    const at = i % (c * pixels);
    return data[image * c * pixels + at % c * pixels + Math.floor(at / c)];
  });
}

/** Attributes of a window, with 1-D images as images of one line. */
function window({ attributes, inputs }: OnnxCase, kernel: readonly number[]) {
  const dims = inputs[0].shape.length - 2;
  if (dims < 1 || dims > 2 || "output_shape" in attributes) return undefined;
  const line = dims === 1;
  const pair = (name: string) => {
    const value = (attributes[name] as number[] | undefined) ?? [1, 1];
    return (line ? [1, value[0]] : value) as [number, number];
  };
  const [, channels, ...space] = inputs[0].shape;
  const [height, width] = (line ? [1, ...space] : space) as [number, number];
  const stride = pair("strides");
  const dilation = pair("dilations");
  const sizes = (line ? [1, ...kernel] : kernel) as [number, number];
  let pads = (attributes.pads as number[] | undefined) ?? [0, 0, 0, 0];
  if (line) pads = [0, pads[0], 0, pads[1] ?? 0];
  const auto = attributes.auto_pad as string | undefined;
  if (auto !== undefined && auto !== "NOTSET") {
    if (auto === "VALID") pads = [0, 0, 0, 0];
    else {
      const total = [height, width].map((from, axis) =>
        Math.max(
          0,
          (Math.ceil(from / stride[axis]) - 1) * stride[axis] +
            (sizes[axis] - 1) * dilation[axis] + 1 - from,
        )
      );
      const before = total.map((pad) =>
        auto === "SAME_UPPER" ? pad >> 1 : (pad + 1) >> 1
      );
      pads = [...before, ...total.map((pad, axis) => pad - before[axis])];
    }
  }
  return {
    height,
    width,
    channels: channels,
    kernel: sizes,
    stride,
    dilation,
    pads: pads as [number, number, number, number],
  };
}

export function convolve(transposed: boolean): Adapter {
  return (host, given) => {
    const [x, w, b] = [input(given, 0)!, input(given, 1)!, input(given, 2)];
    const sizes = window(given, w.shape.slice(2));
    if (sizes === undefined || (transposed && "auto_pad" in given.attributes)) {
      return undefined;
    }
    const groups = (given.attributes.group as number | undefined) ?? 1;
    const outChannels = transposed ? w.shape[1] * groups : w.shape[0];
    const shape = (transposed ? transposedShape : imageShape)({
      ...sizes,
      groups,
      outChannels,
    });
    const pack = transposed ? packConvTranspose : packConv;
    const packed = pack(shape, {
      weight: Float32Array.from(w.data),
      ...(b && { bias: Float32Array.from(b.data) }),
    });
    const m = x.shape[0];
    return images(host, shape, m, x, (at, rows, out) => {
      const kernel = transposed ? "conv_transpose_f32" : "conv_f32";
      const scratch = host.alloc(host.kernels.conv_scratch_bytes(at));
      const weights = host.put(packed);
      host.kernels[kernel](m, at, rows, weights, 0, out, 0, scratch);
    });
  };
}

export function pool(kind: "max" | "average", global: boolean): Adapter {
  return (host, given) => {
    const { attributes, inputs: [x] } = given;
    const kernel = global ? x.shape.slice(2) : attributes.kernel_shape;
    const sizes = window(given, kernel as number[]);
    if (sizes === undefined || attributes.storage_order === 1) return undefined;
    const shape = imageShape({ ...sizes, ceil: attributes.ceil_mode === 1 });
    const m = x.shape[0];
    return images(host, shape, m, x, (at, rows, out) => {
      if (kind === "max") host.kernels.pool_max_f32(m, at, rows, out);
      else {
        const countPadding = attributes.count_include_pad === 1 ? 1 : 0;
        host.kernels.pool_average_f32(m, at, countPadding, rows, out);
      }
    });
  };
}

/** Runs a kernel over images and brings layouts there and back. */
function images(
  host: OnnxHost,
  shape: ImageShape,
  m: number,
  x: OnnxTensor,
  call: (shape: number, rows: number, out: number) => void,
): ArrayLike<number>[] {
  const { height, width, channels, outHeight, outWidth, outChannels } = shape;
  const rows = host.rows(
    m,
    height * width * channels,
    swap(x.data, m, channels),
  );
  const out = host.rows(m, outHeight * outWidth * outChannels);
  call(host.put(shapeWords(shape)), rows.table, out.table);
  return [swap(out.read(), m, outHeight * outWidth)];
}

export const resize: Adapter = (host, given) => {
  const { attributes, inputs: [x] } = given;
  const mode = attributes.mode as string;
  const coordinates = attributes.coordinate_transformation_mode as
    | string
    | undefined;
  const known = [
    undefined,
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
  ];
  if (
    mode === "cubic" || attributes.antialias || !known.includes(coordinates)
  ) {
    return undefined;
  }
  const [n, channels, height, width] = x.shape as [
    number,
    number,
    number,
    number,
  ];
  const [lines, columns] = given.outputs[0].shape.slice(2) as [number, number];
  const scales = input(given, 2)?.data.slice(-2);
  const axis = (from: number, to: number, i: number): ResizeAxis => ({
    input: from,
    output: to,
    ...(scales && { scale: scales[i] }),
    ...(coordinates && { coordinates: coordinates as CoordinateMode }),
  });
  const make = (a: ResizeAxis) =>
    mode === "linear"
      ? resizeLinear(a)
      : resizeNearest(a, attributes.nearest_mode as NearestMode | undefined);
  const rows = host.rows(
    n,
    height * width * channels,
    swap(x.data, n, channels),
  );
  const out = host.rows(n, lines * columns * channels);
  const kernel = mode === "linear" ? "resize_linear_f32" : "resize_nearest_f32";
  host.kernels[kernel](
    ...[n, height, width, channels, lines, columns, rows.table] as const,
    host.put(make(axis(height, lines, 0))),
    host.put(make(axis(width, columns, 1))),
    out.table,
  );
  return [swap(out.read(), n, lines * columns)];
};
