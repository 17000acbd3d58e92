import {
  type ImageShape,
  imageShape,
} from "../../../src/tensor/image_shape.ts";
import { shapeWords } from "../../../src/kernels/pack/image_words.ts";
import {
  type CaseDraw,
  type CaseFamily,
  caseFamily,
  rowOf,
} from "../kernel_case.ts";
import { pool } from "../reference/image.ts";
import {
  drawShape,
  imageEquivalent,
  images,
  label,
  windowAttributes,
} from "./images.ts";

/** Windows three wide and two apart over some multiples of 16 channels: maxima share columns there. */
function overlapping({ prng }: CaseDraw): ImageShape {
  const kernelHeight = 1 + prng.int(4);
  const pad = () => prng.int(2);
  return imageShape({
    height: kernelHeight + prng.int(5),
    width: 3 + prng.int(8),
    channels: 16 * (1 + prng.int(3)),
    kernel: [kernelHeight, 3],
    stride: [1 + prng.int(2), 2],
    pads: [kernelHeight > 1 ? pad() : 0, pad(), 0, pad()],
  });
}

/** Max or average pooling; global pooling and overlapping windows now and then. */
export const poolCase = (
  kernel: "pool_max_f32" | "pool_average_f32",
): CaseFamily<{ shape: ImageShape; countPadding?: boolean }> =>
  caseFamily<{ shape: ImageShape; countPadding?: boolean }>(
    (draw) => {
      const { prng } = draw;
      const shape = drawShape(draw, "pool");
      const { height, width, channels } = shape;
      const kinds = [
        shape,
        shape,
        imageShape({ height, width, channels, kernel: [height, width] }),
        overlapping(draw),
      ];
      return {
        shape: kinds[prng.int(kinds.length)],
        countPadding: prng.int(2) === 1,
      };
    },
    (draw, { shape, countPadding = false }) => {
      const { rows } = draw;
      const kind = kernel === "pool_max_f32"
        ? "max"
        : countPadding
        ? "averageWithPadding"
        : "average";
      const a = images(draw, shape);
      const width = shape.outHeight * shape.outWidth * shape.channels;
      return {
        label: `${kind} ${label(rows, shape)}`,
        rows,
        inputs: { a },
        blocks: { shape: shapeWords(shape) },
        results: { out: { width, type: "f32" } },
        call: (kernels, at, m) =>
          kind === "max"
            ? kernels.pool_max_f32(m, at.shape, at.a, at.out)
            : kernels.pool_average_f32(
              m,
              at.shape,
              countPadding ? 1 : 0,
              at.a,
              at.out,
            ),
        expected: () => ({
          out: Array.from({ length: rows }, (_, i) => i)
            .flatMap((i) => Array.from(pool(kind, shape, rowOf(a, i)))),
        }),
        tolerance: kind === "max" ? 0 : 2 ** -23 * 64,
        equivalent: () =>
          imageEquivalent(rows, shape, a.data as Float32Array, {
            opType: kind === "max" ? "MaxPool" : "AveragePool",
            attributes: {
              ...windowAttributes(shape),
              ...(kind !== "max" && {
                count_include_pad: countPadding ? 1 : 0,
              }),
            },
          }),
      };
    },
  );
