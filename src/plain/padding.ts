/** Tensors with more around them, or less. */

import { PLAIN_TYPES } from "../tensor/plain_tensor.ts";
import { isShape } from "../tensor/tensor.ts";
import {
  choice,
  input,
  ints,
  optionalScalar,
  optionalWhole,
  whole,
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

/** Which element of an axis each one of the padded axis is; -1 for one that is filled in. */
export function paddedAxis(
  size: number,
  before: number,
  after: number,
  mode: string,
): number[] {
  checkOutput([size + before + after]);
  if (size === 0 && mode !== "constant") {
    throw new RangeError(`an empty axis has nothing to pad with`);
  }
  return upTo(size + before + after).map((i) => {
    const at = i - before;
    if (at >= 0 && at < size) return at;
    if (mode === "constant") return -1;
    if (mode === "edge") return at < 0 ? 0 : size - 1;
    if (mode === "wrap") return (at % size + size) % size;
    // Mirrored at the first and the last element, as often as it takes.
    const period = Math.max(1, 2 * (size - 1));
    const back = (at % period + period) % period;
    return back < size ? back : period - back;
  });
}

/** What positions of a padded tensor follow from. */
interface Padding {
  readonly dims: readonly number[];
  readonly axes: readonly number[];
  readonly pads: readonly number[];
  readonly mode: string;
}

/** Which element each one of a padded tensor is. */
interface Padded {
  readonly padding: Padding;
  readonly positions: Int32Array;
  readonly sizes: readonly number[];
}

/** Of every node the last one: a node of a cell pads the same sizes again and again. */
const PADDED = new WeakMap<PlainAttributes, Padded>();

function paddedPositions(node: PlainAttributes, padding: Padding): Padded {
  const known = PADDED.get(node);
  if (known && isSamePadding(known.padding, padding)) return known;
  const { dims, axes, pads, mode } = padding;
  const maps = dims.map((size, axis) => {
    const i = axes.indexOf(axis);
    return i < 0
      ? upTo(size)
      : paddedAxis(size, pads[i], pads[i + axes.length], mode);
  });
  const padded = {
    padding,
    positions: mappedPositions(maps, stridesOf(dims)),
    sizes: maps.map(({ length }) => length),
  };
  PADDED.set(node, padded);
  return padded;
}

function isSamePadding(a: Padding, b: Padding): boolean {
  return a.mode === b.mode && isShape(a.dims, b.dims) &&
    isShape(a.axes, b.axes) && isShape(a.pads, b.pads);
}

/** Pads are an attribute before version 11 of the operator set ("paddings" in the first), inputs from then on. */
const Pad: PlainOperator = {
  since: [1, 2, 11, 13, 18, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const data = input(inputs, 0, "data");
    const { dims } = data;
    const mode = choice(attributes, "mode", [
      "constant",
      "reflect",
      "edge",
      "wrap",
    ]);
    const given = opset < 11
      ? ints(attributes, opset < 2 ? "paddings" : "pads")
      : whole(inputs, 1, "pads");
    const axes = axesOf(
      optionalWhole(inputs, 3, "axes") ?? upTo(dims.length),
      dims.length,
    );
    if (given?.length !== 2 * axes.length) {
      throw new RangeError(
        `pads are ${given?.length ?? 0}, expected ${2 * axes.length}`,
      );
    }
    optionalScalar(inputs, 2, "constant_value", [data.type]);
    const value = opset < 11
      ? (attributes.get("value")?.value ?? 0) as number
      : inputs[2]?.data[0] ?? 0;
    const { positions, sizes } = paddedPositions(attributes, {
      ...{ dims, axes, pads: given, mode },
    });
    return [take(data, positions, sizes, value)];
  },
};

/** Every axis cut, or padded with 0, to a size: the same number of elements on both sides, one more behind. */
const CenterCropPad: PlainOperator = {
  since: [18],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input_data");
    const sizes = whole(inputs, 1, "shape");
    const axes = axesOf(
      ints(attributes, "axes") ?? upTo(data.dims.length),
      data.dims.length,
    );
    const maps = data.dims.map((size, axis) => {
      const wanted = sizes[axes.indexOf(axis)] ?? size;
      checkOutput([wanted]);
      const before = wanted > size
        ? Math.floor((wanted - size) / 2)
        : -Math.floor((size - wanted) / 2);
      return upTo(wanted).map((i) =>
        i - before >= 0 && i - before < size ? i - before : -1
      );
    });
    return [
      take(
        data,
        mappedPositions(maps, stridesOf(data.dims)),
        maps.map(({ length }) => length),
      ),
    ];
  },
};

export const PADDINGS: Readonly<Record<string, PlainOperator>> = {
  Pad,
  CenterCropPad,
};
