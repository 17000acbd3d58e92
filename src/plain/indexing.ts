/** Elements by indices. Negative indices count from the back; one that is out of range is refused. */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  isBig,
  PLAIN_TYPES,
  type PlainArrays,
  plainOf,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import {
  checkDims,
  checkRank,
  choice,
  flag,
  INDICES,
  input,
  int,
  NUMBERS,
  optionalInt,
  requiredInt,
  scalar,
  whole,
} from "./given.ts";
import {
  axisOf,
  lanesOf,
  outputOf,
  permuted,
  positions,
  stridesOf,
  take,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

/** An index into an axis. @throws RangeError when there is no such element */
function indexOf(index: number, size: number): number {
  const at = index < 0 ? index + size : index;
  if (!(at >= 0 && at < size)) {
    throw new RangeError(`index ${index} of ${size} elements`);
  }
  return at;
}

/** Indices as numbers, in range. */
function indicesOf(given: PlainTensor, size: number): Int32Array {
  const elements: PlainArrays[PlainType] = given.data;
  const found = new Int32Array(elements.length);
  for (let i = 0; i < found.length; i++) {
    found[i] = indexOf(Number(elements[i]), size);
  }
  return found;
}

/** Pieces of fewer elements are moved one by one. */
const SHORT_PIECE = 16;

const Gather: PlainOperator = {
  since: [1, 11, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    const indices = input(inputs, 1, "indices", INDICES);
    const axis = axisOf(int(attributes, "axis", 0), data.dims.length);
    const dims = data.dims.toSpliced(axis, 1, ...indices.dims);
    const result = outputOf(data.type, dims);
    // The place of the indices' axes is filled by the indices themselves; what is behind the axis moves as one.
    const piece = elementCount(data.dims.slice(axis + 1));
    const lane = data.dims[axis] * piece;
    const along = indicesOf(indices, data.dims[axis]);
    const from = data.data as Float32Array;
    const to = result.data as Float32Array;
    let at = 0;
    for (let lead = 0; lead < from.length; lead += lane) {
      for (const index of along) {
        const start = lead + index * piece;
        if (piece >= SHORT_PIECE) {
          to.set(from.subarray(start, start + piece), at);
        } else {
          for (let i = 0; i < piece; i++) to[at + i] = from[start + i];
        }
        at += piece;
      }
    }
    return [result];
  },
};

/** Positions in `dims` of elements of a tensor of indices along an axis: all other indices are their own. */
function elementPositions(
  dims: readonly number[],
  indices: PlainTensor,
  axis: number,
): Int32Array {
  const fits = indices.dims.length === dims.length &&
    indices.dims.every((size, at) => at === axis || size <= dims[at]);
  if (!fits) {
    throw new RangeError(
      `indices of ${describeShape(indices.dims)} do not fit ${
        describeShape(dims)
      }`,
    );
  }
  const strides = stridesOf(dims);
  const found = positions(indices.dims, strides.with(axis, 0));
  const along = indicesOf(indices, dims[axis]);
  return found.map((at, i) => at + along[i] * strides[axis]);
}

const GatherElements: PlainOperator = {
  since: [11, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    checkRank(0, "data", data, 1);
    const indices = input(inputs, 1, "indices", INDICES);
    const axis = axisOf(int(attributes, "axis", 0), data.dims.length);
    return [
      take(data, elementPositions(data.dims, indices, axis), indices.dims),
    ];
  },
};

/** Where slices begin that tuples of indices name, and how many elements each has. */
function slicePositions(
  dims: readonly number[],
  indices: PlainTensor,
  batchAxes: number,
): { starts: Int32Array; slice: readonly number[]; lead: readonly number[] } {
  const tuple = indices.dims.at(-1);
  if (
    tuple === undefined || batchAxes + tuple > dims.length ||
    batchAxes >= indices.dims.length || batchAxes < 0
  ) {
    throw new RangeError(
      `indices of ${describeShape(indices.dims)} do not fit ${
        describeShape(dims)
      }`,
    );
  }
  const lead = indices.dims.slice(0, -1);
  const strides = stridesOf(dims);
  const batches = elementCount(dims.slice(0, batchAxes));
  if (elementCount(lead.slice(0, batchAxes)) !== batches) {
    throw new RangeError(
      `indices of ${describeShape(indices.dims)} have other batches than ${
        describeShape(dims)
      }`,
    );
  }
  const count = elementCount(lead);
  const perBatch = count / batches;
  const batch = elementCount(dims.slice(batchAxes));
  const elements: PlainArrays[PlainType] = indices.data;
  const starts = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    starts[i] = Math.floor(i / perBatch) * batch;
    for (let k = 0; k < tuple; k++) {
      const axis = batchAxes + k;
      const index = indexOf(Number(elements[i * tuple + k]), dims[axis]);
      starts[i] += index * strides[axis];
    }
  }
  return { starts, slice: dims.slice(batchAxes + tuple), lead };
}

const GatherND: PlainOperator = {
  since: [11, 12, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    const indices = input(inputs, 1, "indices", ["int64"]);
    const { starts, slice, lead } = slicePositions(
      data.dims,
      indices,
      int(attributes, "batch_dims", 0),
    );
    const size = elementCount(slice);
    const dims = [...lead, ...slice];
    const at = new Int32Array(outputOf("bool", dims).data.length);
    for (let i = 0; i < at.length; i++) {
      at[i] = starts[Math.floor(i / size)] + i % size;
    }
    return [take(data, at, dims)];
  },
};

type Join<T> = (was: T, update: T) => T;

/** How an update meets what is there, by attribute `reduction`: it replaces it by default. */
function reductionOf(
  attributes: PlainAttributes,
  type: PlainType,
): { numbers: Join<number>; bigs: Join<bigint> } | undefined {
  const name = choice(attributes, "reduction", [
    "none",
    "add",
    "mul",
    "max",
    "min",
  ]);
  switch (name) {
    case "add":
      return { numbers: (a, b) => a + b, bigs: (a, b) => a + b };
    case "mul":
      // f64 has no room for all products of integers.
      return {
        numbers: type === "float32" ? (a, b) => a * b : Math.imul,
        bigs: (a, b) => a * b,
      };
    case "max":
      return { numbers: Math.max, bigs: (a, b) => a > b ? a : b };
    case "min":
      return { numbers: Math.min, bigs: (a, b) => a < b ? a : b };
  }
}

/** A copy of a tensor with updates put in, in the updates' order. */
function scattered(
  data: PlainTensor,
  at: Int32Array,
  updates: PlainTensor,
  attributes: PlainAttributes,
): PlainTensor {
  const join = reductionOf(attributes, data.type);
  if (join && data.type === "bool") {
    throw new TypeError("attribute reduction is for numbers, data are bool");
  }
  const result = outputOf(data.type, data.dims);
  const to: PlainArrays[PlainType] = result.data;
  const from: PlainArrays[PlainType] = updates.data;
  // One copy for every type.
  (to as Float32Array).set(data.data as Float32Array);
  for (let i = 0; i < at.length; i++) {
    if (!join) to[at[i]] = from[i];
    else if (isBig(to) && isBig(from)) {
      to[at[i]] = join.bigs(to[at[i]], from[i]);
    } else if (!isBig(to) && !isBig(from)) {
      to[at[i]] = join.numbers(to[at[i]], from[i]);
    }
  }
  return result;
}

const ScatterElements: PlainOperator = {
  since: [11, 13, 16, 18],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    checkRank(0, "data", data, 1);
    const indices = input(inputs, 1, "indices", INDICES);
    const updates = input(inputs, 2, "updates", [data.type]);
    checkDims(2, "updates", updates, indices.dims);
    const axis = axisOf(int(attributes, "axis", 0), data.dims.length);
    const at = elementPositions(data.dims, indices, axis);
    return [scattered(data, at, updates, attributes)];
  },
};

const ScatterND: PlainOperator = {
  since: [11, 13, 16, 18],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    const indices = input(inputs, 1, "indices", ["int64"]);
    const updates = input(inputs, 2, "updates", [data.type]);
    const { starts, slice, lead } = slicePositions(data.dims, indices, 0);
    checkDims(2, "updates", updates, [...lead, ...slice]);
    const size = elementCount(slice);
    const at = Int32Array.from(
      { length: updates.data.length },
      (_, i) => starts[Math.floor(i / size)] + i % size,
    );
    return [scattered(data, at, updates, attributes)];
  },
};

/** A cache with an update written in, from an index of each sample on. */
const TensorScatter: PlainOperator = {
  since: [24],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const cache = input(inputs, 0, "past_cache");
    const update = input(inputs, 1, "update", [cache.type]);
    const { dims } = cache;
    checkRank(1, "update", update, dims.length, dims.length);
    const axis = axisOf(int(attributes, "axis", -2), dims.length);
    if (axis === 0) throw new RangeError("attribute axis is that of the batch");
    const isCircular =
      choice(attributes, "mode", ["linear", "circular"]) === "circular";
    const first = inputs[2]
      ? whole(inputs, 2, "write_indices")
      : new Array<number>(dims[0]).fill(0);
    checkDims(1, "update", update, dims.with(axis, update.dims[axis]));
    if (first.length !== dims[0]) {
      throw new RangeError(
        `input 2 (write_indices) has ${first.length} numbers, expected ${
          dims[0]
        }`,
      );
    }
    const strides = stridesOf(dims);
    const own = stridesOf(update.dims);
    const at = positions(update.dims, strides.with(axis, 0));
    for (let i = 0; i < at.length; i++) {
      const index = first[Math.floor(i / own[0])] +
        Math.floor(i / own[axis]) % update.dims[axis];
      const place = isCircular
        ? (index % dims[axis] + dims[axis]) % dims[axis]
        : index;
      if (!(place >= 0)) throw new RangeError(`a write index is ${place}`);
      at[i] += indexOf(place, dims[axis]) * strides[axis];
    }
    return [scattered(cache, at, update, new Map())];
  },
};

/** The largest elements of an axis, or the smallest; of equals the one with the lower index comes first. */
const TopK: PlainOperator = {
  since: [1, 10, 11, 24],
  types: NUMBERS,
  run: (inputs, attributes, { opset }) => {
    const x = input(inputs, 0, "X");
    const axis = axisOf(int(attributes, "axis", -1), x.dims.length);
    const k = opset < 10
      ? requiredInt(attributes, "k")
      : scalar(inputs, 1, "K", ["int64"]);
    if (!(k >= 0 && k <= x.dims[axis])) {
      throw new RangeError(
        `input 1 (K) is ${k}, axis ${axis} has ${x.dims[axis]} elements`,
      );
    }
    const sign = flag(attributes, "largest", true) ? -1 : 1;
    const { starts, steps } = lanesOf(x.dims, [axis]);
    const elements: PlainArrays[PlainType] = x.data;
    const dims = x.dims.with(axis, k);
    const places = lanesOf(dims, [axis]);
    const at = new Int32Array(outputOf("int64", dims).data.length);
    const indices = new Int32Array(at.length);
    starts.forEach((start, l) => {
      const of = (i: number) => elements[start + steps[i]];
      // NaN is last, as with the kernel: an order has to be one.
      const isNaNOf = (i: number) => Number(of(i) !== of(i));
      const order = upTo(steps.length).sort((a, b) =>
        of(a) < of(b)
          ? -sign
          : of(a) > of(b)
          ? sign
          : isNaNOf(a) - isNaNOf(b) || a - b
      );
      for (let i = 0; i < k; i++) {
        const to = places.starts[l] + places.steps[i];
        at[to] = start + steps[order[i]];
        indices[to] = order[i];
      }
    });
    return [take(x, at, dims), plainOf("int64", dims, indices)];
  },
};

/**
 * Elements, or slices along an axis, each once: sorted, or in the order they are met in. NaN is last, and one for all,
 * as NumPy has it.
 */
const Unique: PlainOperator = {
  since: [11, 28],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const x = input(inputs, 0, "X");
    const given = optionalInt(attributes, "axis");
    const axis = given === undefined ? 0 : axisOf(given, x.dims.length);
    const rest = given === undefined ? [] : x.dims.toSpliced(axis, 1);
    const order = upTo(x.dims.length).filter((at) => at !== axis);
    // Slices one behind the other.
    const rows = given === undefined ? x : permuted(x, [axis, ...order]);
    const size = elementCount(rest);
    const count = given === undefined ? x.data.length : x.dims[axis];
    const elements: PlainArrays[PlainType] = rows.data;
    const compare = (a: number, b: number): number => {
      for (let i = 0; i < size; i++) {
        const [left, right] = [elements[a * size + i], elements[b * size + i]];
        if (left < right) return -1;
        if (left > right) return 1;
        const [isNot, isNotEither] = [left !== left, right !== right];
        if (isNot !== isNotEither) return isNot ? 1 : -1;
      }
      return 0;
    };
    const sorted = upTo(count).sort((a, b) => compare(a, b) || a - b);
    // The first of equals stands for them.
    const groups: number[][] = [];
    for (const i of sorted) {
      const group = groups.at(-1);
      if (group && compare(group[0], i) === 0) group.push(i);
      else groups.push([i]);
    }
    if (!flag(attributes, "sorted", true)) groups.sort(([a], [b]) => a - b);
    const inverse = new Int32Array(count);
    groups.forEach((group, g) => group.forEach((i) => inverse[i] = g));
    const chosen = take(
      rows,
      Int32Array.from(
        groups.flatMap(([i]) => upTo(size).map((k) => i * size + k)),
      ),
      [groups.length, ...rest],
    );
    const back = upTo(x.dims.length).map((at) =>
      at === axis ? 0 : at < axis ? at + 1 : at
    );
    const list = (numbers: Iterable<number>, length: number) =>
      plainOf("int64", [length], numbers);
    return [
      given === undefined ? chosen : permuted(chosen, back),
      list(groups.map(([i]) => i), groups.length),
      list(inverse, count),
      list(groups.map(({ length }) => length), groups.length),
    ];
  },
};

export const INDEXINGS: Readonly<Record<string, PlainOperator>> = {
  // The name of ScatterElements before version 11 of the operator set.
  Scatter: { ...ScatterElements, since: [9, 11] },
  Gather,
  GatherElements,
  GatherND,
  ScatterElements,
  ScatterND,
  TensorScatter,
  TopK,
  Unique,
};
