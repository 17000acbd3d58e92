/** Image operators as their definitions say, one image at a time, in double precision. */
import type {
  ImageOperator,
  ImageSize,
  OperatorName,
  Value,
} from "../../src/graph/operator.ts";
import type { NearestMode, ResizeAxis } from "../../src/tensor/resize_axis.ts";
import { conv, convTranspose, pool } from "../kernels/reference/image.ts";

const NAMES: readonly OperatorName[] = [
  "Conv",
  "ConvTranspose",
  "BatchNormalization",
  "MaxPool",
  "AveragePool",
  "GlobalAveragePool",
  "Resize",
  "CenterCropPad",
  "Flatten",
  "Unflatten",
] satisfies readonly ImageOperator["op"][];

export function isImageOperator(
  operator: { op: OperatorName },
): operator is ImageOperator {
  return NAMES.includes(operator.op);
}

export function applyToImage(
  operator: ImageOperator,
  x: readonly number[],
): number[] {
  switch (operator.op) {
    case "Conv":
    case "ConvTranspose": {
      const { shape, weight, bias } = operator;
      const naive = operator.op === "Conv" ? conv : convTranspose;
      const none = new Array<number>(shape.outChannels).fill(0);
      return [...naive(shape, x, weight.data, bias?.data ?? none)];
    }
    case "BatchNormalization": {
      const { scale, shift, mean, variance, epsilon } = operator;
      const { channels } = operator.inputs[0].image!;
      return x.map((value, i) => {
        const c = i % channels;
        return (value - mean.data[c]) /
            Math.sqrt(variance.data[c] + epsilon) * scale.data[c] +
          shift.data[c];
      });
    }
    case "MaxPool":
      return [...pool("max", operator.shape, x)];
    case "AveragePool":
      return [
        ...pool(
          operator.countIncludePad ? "averageWithPadding" : "average",
          operator.shape,
          x,
        ),
      ];
    case "GlobalAveragePool":
      return [...pool("average", operator.shape, x)];
    case "CenterCropPad": {
      const from = operator.inputs[0].image!;
      const to = operator.outputs[0].image!;
      const top = Math.floor((from.height - to.height) / 2);
      const left = Math.floor((from.width - to.width) / 2);
      return pixelsOf(to).flatMap(({ y, x: column }) =>
        pixel(x, from, y + top, column + left)
      );
    }
    case "Resize": {
      const { mode, lines, columns, nearestMode } = operator;
      const { width, channels } = operator.inputs[0].image!;
      const at = (y: number, column: number, c: number) =>
        x[(y * width + column) * channels + c];
      return Array.from(
        { length: lines.output },
        (_, y) =>
          Array.from(
            { length: columns.output },
            (_, column) =>
              Array.from({ length: channels }, (_, c) =>
                sources(lines, y, mode, nearestMode).flatMap((line) =>
                  sources(columns, column, mode, nearestMode).map((pixel) =>
                    line.weight * pixel.weight * at(line.index, pixel.index, c)
                  )
                ).reduce((a, b) =>
                  a + b
                )),
          ),
      ).flat(2);
    }
    case "Unflatten": {
      const { height, width, channels } = operator.outputs[0].image!;
      return Array.from(
        { length: height * width },
        (_, pixel) =>
          Array.from(
            { length: channels },
            (_, c) => x[c * height * width + pixel],
          ),
      ).flat();
    }
    case "Flatten": {
      const { height, width, channels } = operator.inputs[0].image!;
      return Array.from({ length: channels }, (_, c) =>
        Array.from(
          { length: height * width },
          (_, pixel) => x[pixel * channels + c],
        )).flat();
    }
  }
}

/** Pixels of one axis that a resized one is made of (ONNX Resize, nearest and linear), and their shares. */
function sources(
  { input, output, scale = output / input, coordinates = "half_pixel" }:
    ResizeAxis,
  i: number,
  mode: "nearest" | "linear",
  nearestMode: NearestMode,
): { index: number; weight: number }[] {
  const within = (index: number) => Math.max(0, Math.min(input - 1, index));
  const place = {
    half_pixel: (i + 0.5) / scale - 0.5,
    pytorch_half_pixel: output > 1 ? (i + 0.5) / scale - 0.5 : 0,
    asymmetric: i / scale,
    align_corners: output > 1 ? i * (input - 1) / (output - 1) : 0,
  }[coordinates];
  if (mode === "nearest") {
    const index = {
      round_prefer_floor: Math.ceil(place - 0.5),
      round_prefer_ceil: Math.floor(place + 0.5),
      floor: Math.floor(place),
      ceil: Math.ceil(place),
    }[nearestMode];
    return [{ index: within(index), weight: 1 }];
  }
  const inside = within(place);
  const first = Math.floor(inside);
  return [
    { index: first, weight: 1 - (inside - first) },
    { index: within(first + 1), weight: inside - first },
  ];
}

/** Images stacked along their channels. */
export function stack(
  values: readonly Value[],
  given: readonly (readonly number[])[],
): number[] {
  return pixelsOf(values[0].image!).flatMap(({ y, x }) =>
    given.flatMap((row, i) => pixel(row, values[i].image!, y, x))
  );
}

function pixelsOf({ height, width }: ImageSize): { y: number; x: number }[] {
  return Array.from({ length: height * width }, (_, i) => ({
    y: Math.floor(i / width),
    x: i % width,
  }));
}

function pixel(
  row: readonly number[],
  { width, channels }: ImageSize,
  y: number,
  x: number,
): number[] {
  const at = (y * width + x) * channels;
  return row.slice(at, at + channels);
}
