/**
 * Resizing along any axes: one axis after the other, in f64, rounded once at the end. Each element of the result is
 * a sum over a few neighbours of a place of the input, with weights by how far they are from it.
 */
import { describeShape } from "../base/describe.ts";
import { resizedBy } from "../tensor/resize_axis.ts";
import { elementCount } from "../tensor/tensor.ts";
import { PLAIN_TYPES, type PlainTensor } from "../tensor/plain_tensor.ts";
import {
  choice,
  flag,
  float,
  floatList,
  floats,
  input,
  ints,
  optionalFloats,
  optionalWhole,
  type PlainInputs,
} from "./given.ts";
import {
  axesOf,
  checkOutput,
  mappedPositions,
  stridesOf,
  take,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

const TRANSFORMS = [
  "half_pixel",
  "half_pixel_symmetric",
  "pytorch_half_pixel",
  "align_corners",
  "asymmetric",
  "tf_half_pixel_for_nn",
  "tf_crop_and_resize",
] as const;
const ROUNDINGS = [
  "round_prefer_floor",
  "round_prefer_ceil",
  "floor",
  "ceil",
] as const;

/** What happens along one axis. */
interface Axis {
  /** Elements of the input. */
  readonly size: number;
  /** Elements of the result. */
  readonly out: number;
  readonly scale: number;
  /** Part of the input that is resized, from 0 to 1; for crops. */
  readonly from: number;
  readonly to: number;
}

interface Settings {
  readonly mode: "nearest" | "linear" | "cubic";
  readonly transform: typeof TRANSFORMS[number];
  /** "simple": the element before, the next one along an axis that becomes smaller. */
  readonly rounding: typeof ROUNDINGS[number] | "simple";
  readonly isAntialiased: boolean;
  readonly excludesOutside: boolean;
  readonly cubic: number;
  readonly extrapolation: number;
}

/** Where in the input, in elements, element i of the result lies. */
function placeOf(
  i: number,
  { size, out, scale, from, to }: Axis,
  transform: Settings["transform"],
): number {
  // Length of the result before it is rounded down to whole elements.
  const length = scale * size;
  switch (transform) {
    case "half_pixel":
      return (i + 0.5) / scale - 0.5;
    case "half_pixel_symmetric":
      return size / 2 * (1 - out / length) + (i + 0.5) / scale - 0.5;
    case "pytorch_half_pixel":
      return out > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case "align_corners":
      return length === 1 ? 0 : i * (size - 1) / (length - 1);
    case "asymmetric":
      return i / scale;
    case "tf_half_pixel_for_nn":
      return (i + 0.5) / scale;
    case "tf_crop_and_resize":
      return out > 1
        ? from * (size - 1) + i * (to - from) * (size - 1) / (out - 1)
        : 0.5 * (from + to) * (size - 1);
  }
}

function nearest(
  place: number,
  rounding: Settings["rounding"],
  scale: number,
): number {
  switch (rounding) {
    case "simple":
      // Places are f32 in ONNX Runtime, as scales are: 7 / 0.7 is 10 there.
      return scale < 1 ? Math.ceil(Math.fround(place)) : Math.floor(place);
    case "round_prefer_floor":
      return Math.ceil(place - 0.5);
    case "round_prefer_ceil":
      return Math.floor(place + 0.5);
    case "floor":
      return Math.floor(place);
    case "ceil":
      return Math.ceil(place);
  }
}

/** Weight of a neighbour that is `distance` away: a triangle, or Keys' cubic with coefficient a. */
function weightOf(distance: number, mode: Settings["mode"], a: number): number {
  const x = Math.abs(distance);
  if (mode === "linear") return Math.max(0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/** Elements of the input that make up one of the result, with their weights. */
interface Neighbours {
  readonly at: readonly number[];
  readonly weights: readonly number[];
}

function neighboursOf(
  place: number,
  axis: Axis,
  settings: Settings,
): Neighbours {
  const { mode, isAntialiased, excludesOutside, cubic, rounding } = settings;
  const bounded = (i: number) => Math.max(0, Math.min(axis.size - 1, i));
  if (mode === "nearest") {
    return {
      at: [bounded(nearest(place, rounding, axis.scale))],
      weights: [1],
    };
  }
  // The window is stretched where the result is smaller.
  const stretch = isAntialiased ? Math.min(axis.scale, 1) : 1;
  const reach = Math.floor((mode === "linear" ? -1 : -2) / stretch) + 1;
  checkOutput([2 - 2 * reach]);
  const left = Math.ceil(place) - 1;
  const all = upTo(2 - 2 * reach).map((k) => left + reach + k);
  const isInside = (i: number) => i >= 0 && i < axis.size;
  const weights = all.map((i) =>
    excludesOutside && !isInside(i)
      ? 0
      : weightOf((i - place) * stretch, mode, cubic)
  );
  const sum = isAntialiased || excludesOutside
    ? weights.reduce((a, b) => a + b, 0)
    : 1;
  return { at: all.map(bounded), weights: weights.map((w) => w / sum) };
}

/** One axis resized. */
function resizedAxis(
  data: Float64Array,
  dims: readonly number[],
  axis: number,
  neighbours: readonly Neighbours[],
): Float64Array {
  const size = dims[axis];
  const inner = elementCount(dims.slice(axis + 1));
  const outer = elementCount(dims.slice(0, axis));
  const result = new Float64Array(outer * neighbours.length * inner);
  for (let o = 0; o < outer; o++) {
    neighbours.forEach(({ at, weights }, i) => {
      const to = (o * neighbours.length + i) * inner;
      at.forEach((index, k) => {
        const from = (o * size + index) * inner;
        for (let j = 0; j < inner; j++) {
          result[to + j] += weights[k] * data[from + j];
        }
      });
    });
  }
  return result;
}

function resized(
  x: PlainTensor,
  axes: readonly Axis[],
  settings: Settings,
): PlainTensor {
  const { transform, mode, extrapolation } = settings;
  const dims = axes.map(({ out }) => out);
  checkOutput(dims);
  if (dims.some((size, axis) => size > 0 && x.dims[axis] === 0)) {
    throw new RangeError(`dims ${describeShape(x.dims)} have nothing to show`);
  }
  const places = axes.map((axis) =>
    upTo(axis.out).map((i) => placeOf(i, axis, transform))
  );
  const neighbours = axes.map((axis, at) =>
    places[at].map((place) => neighboursOf(place, axis, settings))
  );
  let result: PlainTensor;
  if (mode === "nearest") {
    const maps = neighbours.map((list) => list.map(({ at }) => at[0]));
    result = take(x, mappedPositions(maps, stridesOf(x.dims)), dims);
  } else {
    if (x.type !== "float32") {
      throw new TypeError(
        `input 0 (X) is ${x.type}; attribute mode ${mode} is for float32`,
      );
    }
    let data: Float64Array = Float64Array.from(x.data);
    const now = [...x.dims];
    axes.forEach(({ size, out, scale, from, to }, axis) => {
      const isWhole = from === 0 && to === 1;
      if (size === out && scale === 1 && isWhole) return;
      data = resizedAxis(data, now, axis, neighbours[axis]);
      now[axis] = out;
    });
    result = { type: "float32", dims, data: Float32Array.from(data) };
  }
  if (transform === "tf_crop_and_resize") {
    const maps = places.map((list, axis) =>
      list.map((at) => at >= 0 && at <= axes[axis].size - 1 ? 0 : -1)
    );
    const outside = mappedPositions(maps, dims.map(() => 0));
    const kept = outside.map((at, i) => at < 0 ? -1 : i);
    result = take(result, kept, dims, extrapolation);
  }
  return result;
}

/** Sizes and scales as inputs or attributes have them, for every axis. */
function axesGiven(
  x: PlainTensor,
  inputs: PlainInputs,
  attributes: PlainAttributes,
): Axis[] {
  const { dims } = x;
  const rank = dims.length;
  const named = axesOf(ints(attributes, "axes") ?? upTo(rank), rank);
  const roi = optionalFloats(inputs, 1, "roi")?.data;
  const scales = optionalFloats(inputs, 2, "scales")?.data;
  const sizes = optionalWhole(inputs, 3, "sizes");
  const hasScales = scales !== undefined && scales.length > 0;
  if (hasScales === (sizes !== undefined && sizes.length > 0)) {
    throw new RangeError("one of inputs 2 (scales) and 3 (sizes) is needed");
  }
  const list: ArrayLike<number> = hasScales ? scales : sizes ?? [];
  if (list.length !== named.length) {
    throw new RangeError(
      `there are ${list.length} scales or sizes, expected ${named.length}`,
    );
  }
  const isCrop = choice(attributes, "coordinate_transformation_mode", [
    ...TRANSFORMS,
  ]) === "tf_crop_and_resize";
  if (isCrop && roi?.length !== 2 * named.length) {
    throw new RangeError(
      `input 1 (roi) has ${roi?.length ?? 0} numbers, expected ${
        2 * named.length
      }`,
    );
  }
  const policy = choice(attributes, "keep_aspect_ratio_policy", [
    "stretch",
    "not_larger",
    "not_smaller",
  ]);
  const ratios = named.map((axis, i) => list[i] / dims[axis]);
  const common = policy === "not_larger"
    ? Math.min(...ratios)
    : Math.max(...ratios);
  return dims.map((size, axis) => {
    const i = named.indexOf(axis);
    if (i < 0) return { size, out: size, scale: 1, from: 0, to: 1 };
    const [from, to] = isCrop && roi ? [roi[i], roi[i + named.length]] : [0, 1];
    if (hasScales) {
      const scale = scales[i];
      if (!(scale > 0)) {
        throw new RangeError(`input 2 (scales) has a scale of ${scale}`);
      }
      return {
        size,
        out: resizedBy(size, scale, from, to),
        scale,
        from,
        to,
      };
    }
    if (policy === "stretch") {
      return { size, out: list[i], scale: ratios[i], from, to };
    }
    const out = Math.floor(common * size + 0.5);
    return { size, out, scale: common, from, to };
  });
}

const Resize: PlainOperator = {
  since: [10, 11, 13, 18, 19],
  types: PLAIN_TYPES,
  limits: "linear and cubic of float32 only",
  run: (inputs, attributes, { opset }) => {
    const x = input(inputs, 0, "X");
    if (opset < 11) {
      return [simplyResized(x, floats(inputs, 1, "scales").data, attributes)];
    }
    return [
      resized(x, axesGiven(x, inputs, attributes), {
        mode: choice(attributes, "mode", ["nearest", "linear", "cubic"]),
        transform: choice(
          attributes,
          "coordinate_transformation_mode",
          TRANSFORMS,
        ),
        rounding: choice(attributes, "nearest_mode", ROUNDINGS),
        isAntialiased: flag(attributes, "antialias"),
        excludesOutside: flag(attributes, "exclude_outside"),
        cubic: float(attributes, "cubic_coeff_a", -0.75),
        extrapolation: float(attributes, "extrapolation_value", 0),
      }),
    ];
  },
};

/**
 * By scales alone: element i lies at i / scale, and the nearest is the one before; the next one along an axis that
 * becomes smaller, of which ONNX says nothing, as in ONNX Runtime.
 */
function simplyResized(
  x: PlainTensor,
  scales: ArrayLike<number>,
  attributes: PlainAttributes,
): PlainTensor {
  if (
    scales.length !== x.dims.length ||
    !Array.from(scales).every((scale) => scale > 0)
  ) {
    throw new RangeError(
      `scales are ${describeShape(Array.from(scales))}, dims ${
        describeShape(x.dims)
      }`,
    );
  }
  const axes = x.dims.map((size, axis): Axis => ({
    size,
    out: resizedBy(size, scales[axis]),
    scale: scales[axis],
    from: 0,
    to: 1,
  }));
  return resized(x, axes, {
    mode: choice(attributes, "mode", ["nearest", "linear"]),
    transform: "asymmetric",
    rounding: "simple",
    isAntialiased: false,
    excludesOutside: false,
    cubic: 0,
    extrapolation: 0,
  });
}

/** Scales are an attribute before version 9 of the operator set, an input from then on. */
const Upsample: PlainOperator = {
  since: [7, 9, 10],
  types: PLAIN_TYPES,
  limits: "linear of float32 only",
  run: (inputs, attributes, { opset }) => {
    const x = input(inputs, 0, "X");
    const scales = opset < 9
      ? floatList(attributes, "scales") ?? []
      : floats(inputs, 1, "scales").data;
    return [simplyResized(x, scales, attributes)];
  },
};

export const RESIZES: Readonly<Record<string, PlainOperator>> = {
  Resize,
  Upsample,
};
