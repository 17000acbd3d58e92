/** Elements in other places, where which ones depends on blocks, lengths, diagonals or conditions. */

import { describeShape } from "../base/describe.ts";
import {
  PLAIN_TYPES,
  type PlainArrays,
  plainOf,
  type PlainType,
  withDims,
} from "../tensor/plain_tensor.ts";
import {
  checkRank,
  choice,
  flag,
  input,
  int,
  optionalScalar,
  requiredInt,
  whole,
} from "./given.ts";
import {
  axisOf,
  mappedPositions,
  permuted,
  positions,
  stridesOf,
  take,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

/** Size of blocks, which has to divide what is cut into them. */
function blocksOf(attributes: PlainAttributes, ...sizes: number[]): number {
  const size = requiredInt(attributes, "blocksize");
  if (!(size > 0) || sizes.some((whole) => whole % size !== 0)) {
    throw new RangeError(
      `attribute blocksize is ${size}, which does not divide ${
        sizes.join(" and ")
      }`,
    );
  }
  return size;
}

const DepthToSpace: PlainOperator = {
  since: [1, 11, 13, 28],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    checkRank(0, "input", data, 4, 4);
    const [n, c, h, w] = data.dims;
    const b = blocksOf(attributes);
    const deep = c / (b * b);
    if (!Number.isInteger(deep)) blocksOf(attributes, deep * b);
    const split = choice(attributes, "mode", ["DCR", "CRD"]) === "DCR"
      ? permuted(withDims(data, [n, b, b, deep, h, w]), [0, 3, 4, 1, 5, 2])
      : permuted(withDims(data, [n, deep, b, b, h, w]), [0, 1, 4, 2, 5, 3]);
    return [withDims(split, [n, deep, h * b, w * b])];
  },
};

const SpaceToDepth: PlainOperator = {
  since: [1, 13, 28],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    checkRank(0, "input", data, 4, 4);
    const [n, c, h, w] = data.dims;
    const b = blocksOf(attributes, h, w);
    const isDepthFirst = choice(attributes, "mode", ["DCR", "CRD"]) === "DCR";
    const split = withDims(data, [n, c, h / b, b, w / b, b]);
    return [
      withDims(
        permuted(split, isDepthFirst ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4]),
        [
          n,
          c * b * b,
          h / b,
          w / b,
        ],
      ),
    ];
  },
};

const ReverseSequence: PlainOperator = {
  since: [10, 28],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    checkRank(0, "input", data, 2);
    const lengths = whole(inputs, 1, "sequence_lens");
    const batchAxis = int(attributes, "batch_axis", 1);
    const timeAxis = int(attributes, "time_axis", 0);
    if (batchAxis + timeAxis !== 1 || batchAxis * timeAxis !== 0) {
      throw new RangeError(
        `attributes batch_axis and time_axis are ${batchAxis} and ${timeAxis}, expected 0 and 1 or 1 and 0`,
      );
    }
    const { dims } = data;
    const strides = stridesOf(dims);
    const fits = lengths.length === dims[batchAxis] &&
      lengths.every((length) => length >= 0 && length <= dims[timeAxis]);
    if (!fits) {
      throw new RangeError(
        `input 1 (sequence_lens) is ${describeShape(lengths)}, expected ${
          dims[batchAxis]
        } numbers to ${dims[timeAxis]}`,
      );
    }
    const at = positions(dims, strides);
    for (let i = 0; i < at.length; i++) {
      const time = Math.floor(i / strides[timeAxis]) % dims[timeAxis];
      const length = lengths[
        Math.floor(i / strides[batchAxis]) % dims[batchAxis]
      ];
      if (time < length) at[i] += (length - 1 - 2 * time) * strides[timeAxis];
    }
    return [take(data, at, dims)];
  },
};

const Trilu: PlainOperator = {
  since: [14],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    checkRank(0, "input", data, 2);
    const k = optionalScalar(inputs, 1, "k", ["int64"]) ?? 0;
    const isUpper = flag(attributes, "upper", true);
    const { dims } = data;
    const [rows, columns] = dims.slice(-2);
    const at = positions(dims, stridesOf(dims));
    for (let i = 0; i < at.length; i++) {
      const over = i % columns - Math.floor(i / columns) % rows - k;
      if (isUpper ? over < 0 : over > 0) at[i] = -1;
    }
    return [take(data, at, dims)];
  },
};

/** Elements where a condition holds, along an axis or of all. */
const Compress: PlainOperator = {
  since: [9, 11, 28],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    let data = input(inputs, 0, "input");
    const { data: condition } = input(inputs, 1, "condition", ["bool"]);
    let axis = 0;
    if (attributes.has("axis")) {
      axis = axisOf(requiredInt(attributes, "axis"), data.dims.length);
    } else {
      data = withDims(data, [data.data.length]);
    }
    const { dims } = data;
    const kept = upTo(Math.min(condition.length, dims[axis])).filter((i) =>
      condition[i]
    );
    const maps = dims.map((size, at) => at === axis ? kept : upTo(size));
    return [
      take(
        data,
        mappedPositions(maps, stridesOf(dims)),
        dims.with(axis, kept.length),
      ),
    ];
  },
};

/** Indices of elements that are not 0: a column for each, in row-major order. */
const NonZero: PlainOperator = {
  since: [9, 13],
  types: PLAIN_TYPES,
  run: (inputs) => {
    const { dims, data } = input(inputs, 0, "X");
    const elements: PlainArrays[PlainType] = data;
    const found: number[] = [];
    for (let i = 0; i < elements.length; i++) {
      if (Number(elements[i]) !== 0) found.push(i);
    }
    const strides = stridesOf(dims);
    return [
      plainOf(
        "int64",
        [dims.length, found.length],
        dims.flatMap((size, axis) =>
          found.map((at) => Math.floor(at / strides[axis]) % size)
        ),
      ),
    ];
  },
};

export const SELECTIONS: Readonly<Record<string, PlainOperator>> = {
  DepthToSpace,
  SpaceToDepth,
  ReverseSequence,
  Trilu,
  Compress,
  NonZero,
};
