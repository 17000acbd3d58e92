/** What a tensor's dims are, and the same elements under others. */
import {
  PLAIN_TYPES,
  plainOf,
  type PlainTensor,
  scalarOf,
  withDims,
} from "../tensor/plain_tensor.ts";
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  BOOLS,
  flag,
  FLOATS,
  input,
  int,
  ints,
  optionalInt,
  optionalScalar,
  optionalWhole,
  type PlainInputs,
  whole,
} from "./given.ts";
import { axesOf, axisOf, outputOf } from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

/** An axis index cut off to 0 .. rank, counted from the back when it is negative. */
function bounded(axis: number, rank: number): number {
  return Math.max(0, Math.min(rank, axis < 0 ? axis + rank : axis));
}

const Shape: PlainOperator = {
  since: [1, 13, 15, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const { dims } = input(inputs, 0, "data");
    const start = bounded(int(attributes, "start", 0), dims.length);
    const end = bounded(
      optionalInt(attributes, "end") ?? dims.length,
      dims.length,
    );
    const part = dims.slice(start, end);
    return [plainOf("int64", [part.length], part)];
  },
};

const Size: PlainOperator = {
  since: [1, 13, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs) => [scalarOf("int64", input(inputs, 0, "data").data.length)],
};

/** Dims with 0 for "as before" and -1 for "what is left" filled in. */
function reshaped(
  dims: readonly number[],
  wanted: readonly number[],
  isZeroTaken: boolean,
): number[] {
  const found = wanted.map((size, axis) =>
    size === 0 && !isZeroTaken ? dims[axis] ?? NaN : size
  );
  const open = found.indexOf(-1);
  const count = elementCount(dims);
  if (open >= 0) {
    const others = elementCount(found.filter((_, axis) => axis !== open));
    found[open] = others === 0 ? 0 : count / others;
  }
  if (
    elementCount(found) !== count ||
    !found.every((size) => Number.isSafeInteger(size) && size >= 0)
  ) {
    throw new RangeError(
      `dims ${describeShape(dims)} cannot become ${describeShape(wanted)}`,
    );
  }
  return found;
}

const Reshape: PlainOperator = {
  since: [1, 5, 13, 14, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const data = input(inputs, 0, "data");
    const wanted = opset < 5
      ? ints(attributes, "shape") ?? []
      : whole(inputs, 1, "shape");
    const isZeroTaken = flag(attributes, "allowzero");
    return [withDims(data, reshaped(data.dims, wanted, isZeroTaken))];
  },
};

const Flatten: PlainOperator = {
  since: [1, 9, 11, 13, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    const rank = data.dims.length;
    const axis = int(attributes, "axis", 1);
    // One more than there are axes: everything before it.
    const at = axis === rank ? rank : axisOf(axis, rank);
    return [
      withDims(data, [
        elementCount(data.dims.slice(0, at)),
        elementCount(data.dims.slice(at)),
      ]),
    ];
  },
};

/** Axes are an attribute before version 13 of the operator set, an input from then on. */
function givenAxes(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  opset: number,
): readonly number[] | undefined {
  return opset < 13
    ? ints(attributes, "axes")
    : optionalWhole(inputs, 1, "axes");
}

const Squeeze: PlainOperator = {
  since: [1, 11, 13, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const data = input(inputs, 0, "data");
    const { dims } = data;
    const given = givenAxes(inputs, attributes, opset);
    const axes = given && axesOf(given, dims.length);
    for (const axis of axes ?? []) {
      if (dims[axis] !== 1) {
        throw new RangeError(
          `axis ${axis} of dims ${describeShape(dims)} is not of size 1`,
        );
      }
    }
    return [
      withDims(
        data,
        dims.filter((size, axis) => axes ? !axes.includes(axis) : size !== 1),
      ),
    ];
  },
};

const Unsqueeze: PlainOperator = {
  since: [1, 11, 13, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const data = input(inputs, 0, "data");
    const given = givenAxes(inputs, attributes, opset);
    if (!given) throw new TypeError("axes are missing");
    const rank = data.dims.length + given.length;
    const axes = axesOf(given, rank);
    const sizes = [...data.dims];
    const dims = Array.from(
      { length: rank },
      (_, axis) => axes.includes(axis) ? 1 : sizes.shift() as number,
    );
    return [withDims(data, dims)];
  },
};

/** Nothing is dropped where nothing is trained; the mask says so. */
const Dropout: PlainOperator = {
  since: [1, 6, 7, 10, 12, 13, 22],
  types: FLOATS,
  limits: "no training",
  run: (inputs, attributes, { opset, outputs }) => {
    const data = input(inputs, 0, "data");
    const ratio = optionalScalar(inputs, 1, "ratio", FLOATS) ?? 0.5;
    const isTrained = opset < 7
      ? !flag(attributes, "is_test")
      : optionalScalar(inputs, 2, "training_mode", BOOLS) === 1 && ratio > 0;
    if (isTrained) throw new RangeError("training is not supported");
    if (outputs < 2) return [data];
    const mask = outputOf(opset < 10 ? "float32" : "bool", data.dims);
    mask.data.fill(1);
    return [data, mask];
  },
};

const Identity: PlainOperator = {
  since: [1, 13, 14, 16, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  limits: "no sequences",
  run: (inputs): PlainTensor[] => [input(inputs, 0, "input")],
};

export const SHAPES: Readonly<Record<string, PlainOperator>> = {
  Shape,
  Size,
  Reshape,
  Flatten,
  Squeeze,
  Unsqueeze,
  Dropout,
  Identity,
};
