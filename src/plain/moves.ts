/** Elements in other places: every operator says for each element of its result which one of the input it is. */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import { PLAIN_TYPES, type PlainTensor } from "../tensor/plain_tensor.ts";
import {
  input,
  int,
  ints,
  optionalWhole,
  type PlainInputs,
  requiredInt,
  whole,
} from "./given.ts";
import {
  axesOf,
  axisOf,
  broadcastDims,
  broadcastTo,
  checkOutput,
  mappedPositions,
  outputOf,
  permuted,
  positions,
  stridesOf,
  take,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

const Transpose: PlainOperator = {
  since: [1, 13, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "data");
    const rank = data.dims.length;
    const order = ints(attributes, "perm") ?? upTo(rank).reverse();
    if (axesOf(order, rank).length !== rank) {
      throw new RangeError(
        `attribute perm is ${describeShape(order)}, expected ${rank} axes`,
      );
    }
    return [permuted(data, axesOf(order, rank))];
  },
};

/** Where a slice begins and how many elements it has; bounds beyond the axis are the axis's (Slice-10). */
function sliced(
  size: number,
  start: number,
  end: number,
  step: number,
): { first: number; count: number } {
  if (step === 0 || !Number.isInteger(step)) {
    throw new RangeError(`a step is ${step}`);
  }
  if (size === 0) return { first: 0, count: 0 };
  const bounded = (at: number, least: number, most: number) =>
    Math.max(least, Math.min(most, at < 0 ? at + size : at));
  const [first, last] = step > 0
    ? [bounded(start, 0, size), bounded(end, 0, size)]
    : [bounded(start, 0, size - 1), bounded(end, -1, size - 1)];
  return { first, count: Math.max(0, Math.ceil((last - first) / step)) };
}

/** Bounds are attributes before version 10 of the operator set, inputs from then on. */
const Slice: PlainOperator = {
  since: [1, 10, 11, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const data = input(inputs, 0, "data");
    const rank = data.dims.length;
    const given = (i: number, name: string) =>
      opset < 10 ? ints(attributes, name) : optionalWhole(inputs, i, name);
    const starts = given(1, "starts");
    const ends = given(2, "ends");
    if (!starts || !ends) throw new TypeError("starts or ends are missing");
    const axes = axesOf(given(3, "axes") ?? upTo(starts.length), rank);
    const steps = opset < 10 ? undefined : optionalWhole(inputs, 4, "steps");
    for (const list of [ends, axes, ...(steps ? [steps] : [])]) {
      if (list.length !== starts.length) {
        throw new RangeError(
          `starts, ends, axes and steps are ${starts.length} and ${list.length}, expected as many of each`,
        );
      }
    }
    const dims = [...data.dims];
    const strides = stridesOf(dims);
    let offset = 0;
    axes.forEach((axis, i) => {
      const step = steps?.[i] ?? 1;
      const size = data.dims[axis];
      const { first, count } = sliced(size, starts[i], ends[i], step);
      dims[axis] = count;
      offset += first * strides[axis];
      strides[axis] *= step;
    });
    return [take(data, positions(dims, strides, offset), dims)];
  },
};

/** Copies a tensor into a part of another that begins at `offset` along an axis. */
function place(
  result: PlainTensor,
  axis: number,
  offset: number,
  part: PlainTensor,
): void {
  const blocks = elementCount(part.dims.slice(0, axis));
  const block = elementCount(part.dims.slice(axis));
  const inner = elementCount(part.dims.slice(axis + 1));
  const step = elementCount(result.dims.slice(axis));
  // One copy for every type.
  const [from, to] = [part, result].map(({ data }) => data as Float32Array);
  for (let i = 0; i < blocks; i++) {
    to.set(
      from.subarray(i * block, (i + 1) * block),
      i * step + offset * inner,
    );
  }
}

/** Tensors one behind the other along an axis. */
export function joined(
  parts: readonly PlainTensor[],
  axis: number,
): PlainTensor {
  const [{ type, dims: first }] = parts;
  parts.forEach((part, i) => {
    const fits = part.type === type && part.dims.length === first.length &&
      part.dims.every((size, at) => at === axis || size === first[at]);
    if (!fits) {
      throw new RangeError(
        `input ${i} is ${part.type} ${describeShape(part.dims)}, which does ` +
          `not continue ${type} ${describeShape(first)} along axis ${axis}`,
      );
    }
  });
  const length = parts.reduce((sum, { dims }) => sum + dims[axis], 0);
  const result = outputOf(type, first.with(axis, length));
  let offset = 0;
  for (const part of parts) {
    place(result, axis, offset, part);
    offset += part.dims[axis];
  }
  return result;
}

const Concat: PlainOperator = {
  since: [1, 4, 11, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset }) => {
    const parts = inputs.map((_, i) => input(inputs, i, `inputs_${i}`));
    input(inputs, 0, "inputs_0");
    const axis = opset < 4
      ? int(attributes, "axis", 1)
      : requiredInt(attributes, "axis");
    return [joined(parts, axisOf(axis, parts[0].dims.length))];
  },
};

/** A part of a tensor along an axis. */
export function part<P extends PlainTensor>(
  source: P,
  axis: number,
  first: number,
  count: number,
): P {
  const strides = stridesOf(source.dims);
  const dims = source.dims.with(axis, count);
  return take(source, positions(dims, strides, first * strides[axis]), dims);
}

/** Lengths of parts: given as attribute, as input from version 13, or equal, the last one shorter from 18. */
function partLengths(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  opset: number,
  size: number,
  outputs: number,
): readonly number[] {
  const given = opset < 13
    ? ints(attributes, "split") ??
      (opset < 2 ? optionalWhole(inputs, 1, "split") : undefined)
    : optionalWhole(inputs, 1, "split");
  if (given) return given;
  const count = opset < 18 ? outputs : int(attributes, "num_outputs", outputs);
  if (count !== outputs) {
    throw new RangeError(
      `attribute num_outputs is ${count}, there are ${outputs}`,
    );
  }
  const length = Math.ceil(size / count);
  if (opset < 18 && length * count !== size) {
    throw new RangeError(
      `an axis of size ${size} has no ${count} equal parts`,
    );
  }
  return upTo(count).map((i) =>
    Math.max(0, Math.min(length, size - i * length))
  );
}

const Split: PlainOperator = {
  since: [1, 2, 11, 13, 18],
  types: PLAIN_TYPES,
  run: (inputs, attributes, { opset, outputs }) => {
    const data = input(inputs, 0, "input");
    const axis = axisOf(int(attributes, "axis", 0), data.dims.length);
    const size = data.dims[axis];
    const lengths = partLengths(inputs, attributes, opset, size, outputs);
    if (lengths.reduce((sum, length) => sum + length, 0) !== size) {
      throw new RangeError(
        `parts of ${describeShape(lengths)} are not an axis of size ${size}`,
      );
    }
    let first = 0;
    return lengths.map((length) => {
      first += length;
      return part(data, axis, first - length, length);
    });
  },
};

const Expand: PlainOperator = {
  since: [8, 13],
  types: PLAIN_TYPES,
  run: (inputs) => {
    const data = input(inputs, 0, "input");
    const dims = broadcastDims(data.dims, whole(inputs, 1, "shape"));
    checkOutput(dims);
    return [broadcastTo(data, dims)];
  },
};

/** Elements of an axis again and again. */
function repeated(size: number, times: number): number[] {
  checkOutput([size, times]);
  return upTo(size * times).map((i) => i % size);
}

const Tile: PlainOperator = {
  since: [1, 6, 13],
  types: PLAIN_TYPES,
  run: (inputs, _, { opset }) => {
    const data = input(inputs, 0, "input");
    const { dims } = data;
    let times = whole(inputs, 1, "repeats");
    if (opset < 6) {
      // The first version repeats one axis.
      const axis = axisOf(whole(inputs, 2, "axis")[0], dims.length);
      times = dims.map((_, at) => at === axis ? times[0] : 1);
    }
    if (times.length !== dims.length) {
      throw new RangeError(
        `input 1 (repeats) has ${times.length} numbers, expected ${dims.length}`,
      );
    }
    const maps = dims.map((size, axis) => repeated(size, times[axis]));
    return [
      take(
        data,
        mappedPositions(maps, stridesOf(dims)),
        maps.map(({ length }) => length),
      ),
    ];
  },
};

export const MOVES: Readonly<Record<string, PlainOperator>> = {
  Transpose,
  Slice,
  Concat,
  Split,
  Expand,
  Tile,
};
