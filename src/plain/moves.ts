/** Elements in other places: every operator says for each element of its result which one of the input it is. */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  PLAIN_TYPES,
  type PlainArrays,
  plainOf,
  type PlainTensor,
  type PlainType,
  withDims,
} from "../tensor/plain_tensor.ts";
import {
  checkRank,
  choice,
  flag,
  input,
  int,
  ints,
  optionalScalar,
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

/** Which element of an axis each one of the padded axis is; -1 for one that is filled in. */
function paddedAxis(
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
    const maps = dims.map((size, axis) => {
      const i = axes.indexOf(axis);
      return i < 0
        ? upTo(size)
        : paddedAxis(size, given[i], given[i + axes.length], mode);
    });
    return [
      take(
        data,
        mappedPositions(maps, stridesOf(dims)),
        maps.map(({ length }) => length),
        value,
      ),
    ];
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
  since: [1, 11, 13],
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
  since: [1, 13],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const data = input(inputs, 0, "input");
    checkRank(0, "input", data, 4, 4);
    const [n, c, h, w] = data.dims;
    const b = blocksOf(attributes, h, w);
    const split = withDims(data, [n, c, h / b, b, w / b, b]);
    return [
      withDims(permuted(split, [0, 3, 5, 1, 2, 4]), [
        n,
        c * b * b,
        h / b,
        w / b,
      ]),
    ];
  },
};

const ReverseSequence: PlainOperator = {
  since: [10],
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
    if (lengths.length !== dims[batchAxis]) {
      throw new RangeError(
        `input 1 (sequence_lens) has ${lengths.length} numbers, expected ${
          dims[batchAxis]
        }`,
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
  since: [9, 11],
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

export const MOVES: Readonly<Record<string, PlainOperator>> = {
  Transpose,
  Slice,
  Concat,
  Split,
  Expand,
  Tile,
  Pad,
  CenterCropPad,
  DepthToSpace,
  SpaceToDepth,
  ReverseSequence,
  Trilu,
  Compress,
  NonZero,
};
