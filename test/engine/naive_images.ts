/** Image operators as their definitions say, one image at a time, in double precision. */
import type {
  ImageOperator,
  ImageSize,
  OperatorName,
  Value,
} from "../../src/graph/operator.ts";
import { conv, convTranspose, pool } from "../kernels/reference/image.ts";

const NAMES: readonly OperatorName[] = [
  "Conv",
  "ConvTranspose",
  "BatchNormalization",
  "MaxPool",
  "AveragePool",
  "GlobalAveragePool",
  "CenterCropPad",
  "Flatten",
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
