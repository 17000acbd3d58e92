/**
 * Where elements lie. Most operators are index arithmetic: which element of an input each element of the output
 * is, as a list of positions that is built one axis after the other.
 */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  isBig,
  newElements,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
  zerosOf,
} from "../tensor/plain_tensor.ts";

/** Elements of a result; what asks for more is refused before memory is taken. 1 GiB of f32. */
export const ELEMENTS_MAX = 2 ** 28;

/** A result that is still all 0. @throws RangeError when its dims are none or it has too many elements */
export function outputOf<T extends PlainType>(
  type: T,
  dims: readonly number[],
): PlainTensor<T> {
  checkOutput(dims);
  return zerosOf(type, dims);
}

/** @throws RangeError when a result's dims are none or it has too many elements */
export function checkOutput(dims: readonly number[]): void {
  if (!dims.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw new RangeError(`the result would have dims ${describeShape(dims)}`);
  }
  if (elementCount(dims) > ELEMENTS_MAX) {
    throw new RangeError(
      `the result would have dims ${
        describeShape(dims)
      }, more than ${ELEMENTS_MAX} elements`,
    );
  }
}

/** Elements from one index of an axis to the next. */
export function stridesOf(dims: readonly number[]): number[] {
  const strides = new Array<number>(dims.length);
  let stride = 1;
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

/** Position of every element of a row-major walk over `dims`, with those strides, from `offset`. */
export function positions(
  dims: readonly number[],
  strides: readonly number[],
  offset = 0,
): Int32Array {
  checkOutput(dims);
  let found = Int32Array.of(offset);
  dims.forEach((size, axis) => {
    const stride = strides[axis];
    const next = new Int32Array(found.length * size);
    for (let start = 0, at = 0; start < found.length; start++) {
      let position = found[start];
      if (stride === 0) {
        next.fill(position, at, at + size);
        at += size;
        continue;
      }
      for (let i = 0; i < size; i++, position += stride) next[at++] = position;
    }
    found = next;
  });
  return found;
}

/**
 * Position of every element of a result whose index i of an axis is index `maps[axis][i]` of the source; -1 where
 * a map has -1.
 */
export function mappedPositions(
  maps: readonly ArrayLike<number>[],
  strides: readonly number[],
): Int32Array {
  checkOutput(maps.map(({ length }) => length));
  let found = Int32Array.of(0);
  maps.forEach((map, axis) => {
    const stride = strides[axis];
    const next = new Int32Array(found.length * map.length);
    let at = 0;
    for (const start of found) {
      for (let i = 0; i < map.length; i++) {
        next[at++] = start < 0 || map[i] < 0 ? -1 : start + map[i] * stride;
      }
    }
    found = next;
  });
  return found;
}

/** The whole numbers below `count`. */
export function upTo(count: number): number[] {
  const numbers = new Array<number>(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** The elements at those positions; where one is negative, `fill`. */
export function take<P extends PlainTensor>(
  source: P,
  at: Int32Array,
  dims: readonly number[],
  fill: number | bigint = 0,
): P {
  const { type } = source;
  const result = outputOf(type, dims);
  const filling: PlainArrays[PlainType] = newElements(type, 1);
  filling[0] = isBig(filling) ? BigInt(fill) : fill;
  const from = wordsOf(source.data);
  const to = wordsOf(result.data);
  const other = wordsOf(filling);
  if (isBig(result.data)) {
    for (let i = 0; i < at.length; i++) {
      const words = at[i] < 0 ? other : from;
      const first = at[i] < 0 ? 0 : 2 * at[i];
      to[2 * i] = words[first];
      to[2 * i + 1] = words[first + 1];
    }
  } else {
    for (let i = 0; i < at.length; i++) {
      to[i] = at[i] < 0 ? other[0] : from[at[i]];
    }
  }
  return result as P;
}

/** Elements as numbers that can be copied without looking at them; those of 64 bits as two, which takes no bigint. */
function wordsOf(
  { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: PlainArrays[
    PlainType
  ],
): Int32Array | Int16Array | Int8Array {
  if (BYTES_PER_ELEMENT === 1) {
    return new Int8Array(buffer, byteOffset, byteLength);
  }
  return BYTES_PER_ELEMENT === 2
    ? new Int16Array(buffer, byteOffset, byteLength / 2)
    : new Int32Array(buffer, byteOffset, byteLength / 4);
}

/** An axis counted from the front. @throws RangeError when there is none */
export function axisOf(axis: number, rank: number): number {
  const found = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(found) || found < 0 || found >= rank) {
    throw new RangeError(`there is no axis ${axis} of ${rank}`);
  }
  return found;
}

/** Axes counted from the front. @throws RangeError when there is none, or one twice */
export function axesOf(axes: readonly number[], rank: number): number[] {
  const found = axes.map((axis) => axisOf(axis, rank));
  if (new Set(found).size < found.length) {
    throw new RangeError(`axes ${describeShape(axes)} name one twice`);
  }
  return found;
}

/** Dims that all these broadcast to (Broadcasting.md of ONNX). @throws RangeError when there are none */
export function broadcastDims(
  ...shapes: readonly (readonly number[])[]
): number[] {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  return upTo(rank).map((axis) => {
    let size = 1;
    for (const dims of shapes) {
      const own = dims[axis - rank + dims.length] ?? 1;
      if (own === 1) continue;
      if (size !== 1 && size !== own) {
        throw new RangeError(
          `dims ${
            shapes.map((dims) => describeShape(dims)).join(" and ")
          } do not broadcast`,
        );
      }
      size = own;
    }
    return size;
  });
}

/**
 * Position of the element of a source that each element of a result reads when the source is broadcast.
 * @throws RangeError when the source does not broadcast to `dims`
 */
export function broadcastPositions(
  source: readonly number[],
  dims: readonly number[],
): Int32Array {
  const lead = dims.length - source.length;
  const strides = stridesOf(source);
  source.forEach((size, axis) => {
    if (size !== 1 && size !== dims[lead + axis]) {
      throw new RangeError(
        `dims ${describeShape(source)} do not broadcast to ${
          describeShape(dims)
        }`,
      );
    }
  });
  if (lead < 0) {
    throw new RangeError(
      `dims ${describeShape(source)} have more axes than ${
        describeShape(dims)
      }`,
    );
  }
  return positions(
    dims,
    dims.map((_, axis) =>
      (source[axis - lead] ?? 1) === 1 ? 0 : strides[axis - lead]
    ),
  );
}

/** A tensor broadcast to dims; the tensor itself where it has them. */
export function broadcastTo<P extends PlainTensor>(
  source: P,
  dims: readonly number[],
): P {
  if (sameDims(source.dims, dims)) return source;
  return take(source, broadcastPositions(source.dims, dims), dims);
}

export function sameDims(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

/** A tensor's elements seen as lanes along some axes: lane l has the elements `starts[l] + steps[i]`. */
export interface Lanes {
  /** Sizes of the other axes. */
  readonly kept: readonly number[];
  /** Sizes with 1 in place of the lanes' axes. */
  readonly ones: readonly number[];
  /** Position of each lane's first element; lanes in row-major order of the other axes. */
  readonly starts: Int32Array;
  /** Where a lane's elements lie behind its start; in row-major order of the lane's axes. */
  readonly steps: Int32Array;
}

/** @param axes counted from the front */
export function lanesOf(
  dims: readonly number[],
  axes: readonly number[],
): Lanes {
  const strides = stridesOf(dims);
  const inLane = upTo(dims.length).filter((axis) => axes.includes(axis));
  const others = upTo(dims.length).filter((axis) => !axes.includes(axis));
  const of = <T>(list: readonly T[], which: number[]) =>
    which.map((axis) => list[axis]);
  return {
    kept: of(dims, others),
    ones: dims.map((size, axis) => axes.includes(axis) ? 1 : size),
    starts: positions(of(dims, others), of(strides, others)),
    steps: positions(of(dims, inLane), of(strides, inLane)),
  };
}

/** Axes in another order: axis i of the result is axis `order[i]` of the source. */
export function permuted<P extends PlainTensor>(
  source: P,
  order: readonly number[],
): P {
  const strides = stridesOf(source.dims);
  const dims = order.map((axis) => source.dims[axis]);
  return take(
    source,
    positions(dims, order.map((axis) => strides[axis])),
    dims,
  );
}
