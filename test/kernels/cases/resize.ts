import { imageShape } from "../../../src/tensor/image_shape.ts";
import {
  type CaseFamily,
  caseFamily,
  drawRows,
  rowOf,
} from "../kernel_case.ts";
import {
  resizeLinear,
  resizeNearest,
} from "../../../src/kernels/pack/resize_tables.ts";
import { imageEquivalent } from "./images.ts";

/** Sizes of a resize case. */
export interface ResizeCaseSize {
  height: number;
  width: number;
  channels: number;
  outHeight: number;
  outWidth: number;
}

/** Resizing by tables; the reference reads the same tables. */
export function resizeCase(
  name: "resize_nearest_f32" | "resize_linear_f32",
): CaseFamily<ResizeCaseSize> {
  const nearest = name === "resize_nearest_f32";
  return caseFamily<ResizeCaseSize>(
    ({ prng }) => {
      const size = () => 1 + prng.int(9);
      return {
        height: size(),
        width: size(),
        channels: size(),
        outHeight: size(),
        outWidth: size(),
      };
    },
    (draw, { height, width, channels, outHeight, outWidth }) => {
      const { rows } = draw;
      const make = nearest ? resizeNearest : resizeLinear;
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
            at.a,
            at.lines,
            at.columns,
            at.out,
          ),
        expected: () => ({
          out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
            resized(rowOf(a, i), {
              height,
              width,
              channels,
              outHeight,
              outWidth,
            }, {
              nearest,
              lines,
              columns,
            })
          ),
        }),
        tolerance: nearest ? 0 : 2 ** -21,
        equivalent: () => {
          const shape = {
            ...imageShape({ height, width, channels, kernel: 1 }),
            outHeight,
            outWidth,
          };
          const one = imageEquivalent(rows, shape, a.data as Float32Array, {
            opType: "Resize",
            attributes: {
              mode: nearest ? "nearest" : "linear",
              coordinate_transformation_mode: "half_pixel",
            },
          }, [{
            name: "sizes",
            shape: [4],
            type: "i64",
            data: BigInt64Array.from(
              [rows, channels, outHeight, outWidth].map(BigInt),
            ),
          }]);
          const inputs = ["x", "", "", "sizes"];
          return { ...one, nodes: [{ ...one.nodes[0], inputs }] };
        },
      };
    },
  );
}

/** One resized image from the kernels' tables. */
function resized(
  image: ArrayLike<number>,
  { width, channels, outHeight, outWidth }: ResizeCaseSize,
  { nearest, lines, columns }: {
    nearest: boolean;
    lines: Int32Array;
    columns: Int32Array;
  },
): number[] {
  const pixel = (y: number, x: number, c: number) =>
    image[(y * width + x) * channels + c];
  const weights = (table: Int32Array, at: number) => {
    const floats = new Float32Array(table.buffer);
    return [0, 1].map((side) =>
      [table[4 * at + side], floats[4 * at + 2 + side]] as const
    );
  };
  return Array.from({ length: outHeight * outWidth * channels }, (_, j) => {
    const c = j % channels;
    const x = Math.floor(j / channels) % outWidth;
    const y = Math.floor(j / channels / outWidth);
    if (nearest) return pixel(lines[y], columns[x], c);
    let sum = 0;
    for (const [line, wy] of weights(lines, y)) {
      for (const [column, wx] of weights(columns, x)) {
        sum += wy * wx * pixel(line, column, c);
      }
    }
    return sum;
  });
}
