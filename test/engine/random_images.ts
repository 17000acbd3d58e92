/** Random image operators for random cells. */
import type { Prng } from "../../src/base/prng.ts";
import type { Operators } from "../../src/graph/cell_builder.ts";
import type { ImageOperator, Value } from "../../src/graph/operator.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";

export const IMAGE_OPERATORS = [
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
] as const satisfies readonly ImageOperator["op"][];

export interface ImageDraw {
  readonly op: ImageOperator["op"];
  readonly random: Prng;
  weight(...shape: number[]): Tensor;
}

/** Rows and columns are few: sizes multiply. */
const CHANNELS_MAX = 6;
const SIDE_MAX = 7;

/** Applies an operator to an image; undefined where its result would be too large or there is none. */
export function applyImageOperator(
  op: Operators,
  x: Value,
  { op: name, random, weight }: ImageDraw,
): Value | undefined {
  const { height, width, channels } = x.image!;
  const upTo = (max: number) => 1 + random.int(max);
  switch (name) {
    case "Conv": {
      const depthwise = random.int(3) === 0;
      const group = depthwise ? channels : channels % 2 === 0 ? upTo(2) : 1;
      const out = depthwise
        ? channels
        : group * upTo(Math.max(1, CHANNELS_MAX / group | 0));
      const kernel = [upTo(Math.min(3, height)), upTo(Math.min(3, width))];
      const bias = random.int(2) ? weight(out) : undefined;
      return op.Conv(x, weight(out, channels / group, kernel[0], kernel[1]), {
        group,
        strides: [upTo(2), upTo(2)],
        pads: [random.int(2), random.int(2), random.int(2), random.int(2)],
        ...(bias && { bias }),
      });
    }
    case "ConvTranspose": {
      if (2 * Math.max(height, width) > SIDE_MAX) return undefined;
      const side = upTo(2);
      const group = channels % 2 === 0 ? upTo(2) : 1;
      const out = upTo(2);
      const bias = random.int(2) ? weight(group * out) : undefined;
      return op.ConvTranspose(x, weight(channels, out, side, side), {
        group,
        strides: side,
        ...(bias && { bias }),
      });
    }
    case "BatchNormalization": {
      const variance = weight(channels);
      variance.data.forEach((v, i) => variance.data[i] = 0.5 + Math.abs(v));
      return op.BatchNormalization(x, {
        scale: weight(channels),
        shift: weight(channels),
        mean: weight(channels),
        variance,
      });
    }
    case "MaxPool":
    case "AveragePool": {
      const kernel = [
        upTo(Math.min(3, height)),
        upTo(Math.min(3, width)),
      ] as const;
      const pad = (side: 0 | 1) => random.int(kernel[side]);
      return op[name](x, {
        kernelShape: kernel,
        strides: upTo(2),
        pads: [pad(0), pad(1), pad(0), pad(1)],
        ceilMode: random.int(2) === 1,
        ...(name === "AveragePool" && { countIncludePad: random.int(2) === 1 }),
      });
    }
    case "GlobalAveragePool":
      return op.GlobalAveragePool(x);
    case "CenterCropPad":
      return op.CenterCropPad(x, upTo(height), upTo(width));
    case "Resize": {
      const pick = <T>(...from: T[]) => from[random.int(from.length)];
      return op.Resize(x, upTo(SIDE_MAX), upTo(SIDE_MAX), {
        mode: pick("nearest", "linear"),
        coordinates: pick("half_pixel", "asymmetric", "pytorch_half_pixel"),
        nearestMode: pick("floor", "ceil", "round_prefer_floor"),
      });
    }
    case "Unflatten":
      return op.Unflatten(op.Flatten(x), { height, width, channels });
    case "Flatten":
      return op.Flatten(x);
  }
}
