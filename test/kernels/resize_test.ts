/** Resizes of the examples in ONNX's operator documentation (Resize, opset 19). */
import assert from "node:assert/strict";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import {
  type CoordinateMode,
  type NearestMode,
  resizeLinear,
  resizeNearest,
} from "../../src/kernels/pack/resize_tables.ts";
import { release } from "./builds.ts";

interface Example {
  /** Name of ONNX's test case. */
  name: string;
  image: readonly (readonly number[])[];
  scales?: readonly [number, number];
  sizes: readonly [number, number];
  linear?: true;
  coordinates?: CoordinateMode;
  nearest?: NearestMode;
  expected: readonly number[];
}

const SQUARE = [[1, 2], [3, 4]];
const LINES = [[1, 2, 3, 4], [5, 6, 7, 8]];
const SIXTEEN = [0, 1, 2, 3].map((y) => [1, 2, 3, 4].map((x) => 4 * y + x));

const EXAMPLES: readonly Example[] = [
  {
    name: "upsample_scales_nearest",
    image: SQUARE,
    scales: [2, 3],
    sizes: [4, 6],
    expected: [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]
      .concat([3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4]),
  },
  {
    name: "downsample_scales_nearest",
    image: LINES,
    scales: [0.6, 0.6],
    sizes: [1, 2],
    expected: [1, 3],
  },
  {
    name: "upsample_sizes_nearest_ceil_half_pixel",
    image: SIXTEEN,
    sizes: [8, 8],
    nearest: "ceil",
    expected: [1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 7, 8, 8, 8]
      .concat([5, 6, 6, 7, 7, 8, 8, 8, 9, 10, 10, 11, 11, 12, 12, 12])
      .concat([9, 10, 10, 11, 11, 12, 12, 12, 13, 14, 14, 15, 15, 16, 16, 16])
      .concat([13, 14, 14, 15, 15, 16, 16, 16])
      .concat([13, 14, 14, 15, 15, 16, 16, 16]),
  },
  {
    name: "upsample_sizes_nearest_floor_align_corners",
    image: SIXTEEN,
    sizes: [8, 8],
    nearest: "floor",
    coordinates: "align_corners",
    expected: [1, 1, 1, 2, 2, 3, 3, 4, 1, 1, 1, 2, 2, 3, 3, 4]
      .concat([1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 7, 8])
      .concat([5, 5, 5, 6, 6, 7, 7, 8, 9, 9, 9, 10, 10, 11, 11, 12])
      .concat([9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 16]),
  },
  {
    name: "upsample_sizes_nearest_round_prefer_ceil_asymmetric",
    image: SIXTEEN,
    sizes: [8, 8],
    nearest: "round_prefer_ceil",
    coordinates: "asymmetric",
    expected: [1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 7, 8, 8, 8]
      .concat([5, 6, 6, 7, 7, 8, 8, 8, 9, 10, 10, 11, 11, 12, 12, 12])
      .concat([9, 10, 10, 11, 11, 12, 12, 12, 13, 14, 14, 15, 15, 16, 16, 16])
      .concat([13, 14, 14, 15, 15, 16, 16, 16])
      .concat([13, 14, 14, 15, 15, 16, 16, 16]),
  },
  {
    name: "upsample_scales_linear",
    image: SQUARE,
    scales: [2, 2],
    sizes: [4, 4],
    linear: true,
    expected: [1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5]
      .concat([2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4]),
  },
  {
    name: "upsample_scales_linear_align_corners",
    image: SQUARE,
    scales: [2, 2],
    sizes: [4, 4],
    linear: true,
    coordinates: "align_corners",
    expected: [1, 4 / 3, 5 / 3, 2, 5 / 3, 2, 7 / 3, 8 / 3]
      .concat([7 / 3, 8 / 3, 3, 10 / 3, 3, 10 / 3, 11 / 3, 4]),
  },
  {
    name: "downsample_scales_linear",
    image: LINES,
    scales: [0.6, 0.6],
    sizes: [1, 2],
    linear: true,
    expected: [8 / 3, 13 / 3],
  },
  {
    name: "downsample_scales_linear_align_corners",
    image: LINES,
    scales: [0.6, 0.6],
    sizes: [1, 2],
    linear: true,
    coordinates: "align_corners",
    expected: [1, 3.142857],
  },
  {
    name: "downsample_sizes_linear_pytorch_half_pixel",
    image: SIXTEEN,
    sizes: [3, 1],
    linear: true,
    coordinates: "pytorch_half_pixel",
    expected: [5 / 3, 7, 37 / 3],
  },
];

for (
  const { name, image, scales, sizes, expected, ...mode } of EXAMPLES
) {
  Deno.test(`resizing gives what ONNX documents: ${name}`, () => {
    const host = new KernelHost(release.kernels, release.memory);
    const [height, width] = [image.length, image[0].length];
    const table = (axis: 0 | 1) => {
      const sizeOf = {
        input: axis === 0 ? height : width,
        output: sizes[axis],
        ...(scales && { scale: scales[axis] }),
        ...(mode.coordinates && { coordinates: mode.coordinates }),
      };
      return host.block(
        mode.linear
          ? resizeLinear(sizeOf)
          : resizeNearest(sizeOf, mode.nearest),
      );
    };
    const out = host.rows(1, expected.length, "f32");
    host.call(mode.linear ? "resize_linear_f32" : "resize_nearest_f32", {
      ...{ height, width, channels: 1 },
      ...{ outHeight: sizes[0], outWidth: sizes[1] },
      inRows: host.rows(1, height * width, Float32Array.from(image.flat())),
      lines: table(0),
      columns: table(1),
      outRows: out,
    });
    host.read(out).forEach((value, i) =>
      assert.ok(
        Math.abs(value - expected[i]) <= 1e-6 * Math.abs(expected[i]),
        `element ${i} is ${value}, expected ${expected[i]}`,
      )
    );
  });
}
