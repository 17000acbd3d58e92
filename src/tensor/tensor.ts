import { describe, describeShape, isList } from "../base/describe.ts";

/**
 * Element types a row may have; kernels take f32 and i32, operators in plain TypeScript all. A bool is a byte, 0 or 1.
 */
export type Dtype = "f32" | "i32" | "i64" | "i8" | "u8" | "bool";

/** Bytes of a float or an i32, which is what weights and most rows are made of. */
export const BYTES_PER_ELEMENT = 4;

/** Elements of a tensor, one after the other. */
export type TensorData =
  | Float32Array
  | Int32Array
  | BigInt64Array
  | Int8Array
  | Uint8Array;

/** The array that holds elements of a type. */
export type DataOf<D extends Dtype> = D extends "f32" ? Float32Array
  : D extends "i32" ? Int32Array
  : D extends "i64" ? BigInt64Array
  : D extends "i8" ? Int8Array
  : Uint8Array;

const ARRAYS: {
  readonly [D in Dtype]: {
    new (length: number): DataOf<D>;
    readonly BYTES_PER_ELEMENT: number;
  };
} = {
  f32: Float32Array,
  i32: Int32Array,
  i64: BigInt64Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
};

/** All element types. */
export const DTYPES = Object.keys(ARRAYS) as readonly Dtype[];

/** Bytes of an element. */
export function elementBytes(dtype: Dtype): number {
  return ARRAYS[dtype].BYTES_PER_ELEMENT;
}

/** An array for so many elements of a type, all 0. */
export function elements<D extends Dtype>(
  dtype: D,
  count: number,
): DataOf<D> {
  return new ARRAYS[dtype](count);
}

/** Whether an array holds elements of a type. */
export function holds(dtype: Dtype, data: unknown): boolean {
  return data instanceof ARRAYS[dtype];
}

/**
 * A dense row-major array. Weights are tensors of floats.
 * @typeParam D type of its elements
 */
export interface Tensor<D extends TensorData = Float32Array> {
  /** Sizes of its axes, the slowest first; positive integers. */
  readonly shape: readonly number[];
  /** As many elements as the product of the sizes. */
  readonly data: D;
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/**
 * A tensor over existing data, which is not copied.
 * @param shape sizes of the axes, the slowest first
 * @param data its elements, row-major
 * @throws TypeError when the shape is no list or the data are no array of a Dtype; RangeError when
 * shape and number of elements disagree
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { tensor } from "@shoal/core";
 *
 * const weight = tensor([2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
 * const [, columns] = weight.shape;
 * assert.equal(weight.data[1 * columns + 2], 6); // row 1, column 2
 * ```
 */
export function tensor<D extends TensorData>(
  shape: readonly number[],
  data: D,
): Tensor<D> {
  if (!isList(shape)) {
    throw new TypeError(
      `A tensor's shape is a list of sizes, got ${describe(shape)}`,
    );
  }
  if (!DTYPES.some((dtype) => holds(dtype, data))) {
    throw new TypeError(
      `A tensor's data are a Float32Array, Int32Array, BigInt64Array, Int8Array or Uint8Array, got ${
        describe(data)
      }`,
    );
  }
  if (!shape.every(isSize)) {
    throw new RangeError(
      `A tensor's sizes are positive integers, got ${describeShape(shape)}`,
    );
  }
  if (elementCount(shape) !== data.length) {
    throw new RangeError(
      `A tensor of shape ${describeShape(shape)} has ${
        elementCount(shape)
      } elements, got ${data.length}`,
    );
  }
  return { shape, data };
}

function isSize(size: unknown): size is number {
  return Number.isInteger(size) && Number(size) >= 1;
}

/** Whether a shape is the one expected. */
export function isShape(shape: unknown, expected: readonly number[]): boolean {
  return isList(shape) && shape.length === expected.length &&
    shape.every((size, axis) => size === expected[axis]);
}

/**
 * Whether a weight is one: floats, as many as its shape says.
 * @param what what to call it in messages
 * @throws TypeError when it is something else, RangeError when it has another number of elements
 */
export function checkWeight(
  what: string,
  given: unknown,
): asserts given is Tensor {
  const { shape, data } = (given ?? {}) as { shape?: unknown; data?: unknown };
  if (!isList(shape) || !(data instanceof Float32Array)) {
    const got = isList(shape)
      ? `data that are ${describe(data)}`
      : given instanceof Promise
      ? "a promise: load weights before the model is made"
      : describe(given);
    throw new TypeError(
      `${what} is a tensor, a shape with a Float32Array, got ${got}`,
    );
  }
  if (!shape.every(isSize)) {
    throw new RangeError(
      `${what} has sizes that are no positive integers, ${
        describeShape(shape)
      }`,
    );
  }
  const elements = elementCount(shape);
  if (data.length !== elements) {
    throw new RangeError(
      `${what} has ${data.length} elements, its shape ${
        describeShape(shape)
      } needs ${elements}`,
    );
  }
}

/** Tensors of one axis, one after the other. */
export function concatenated(...parts: readonly Tensor[]): Tensor {
  const data = new Float32Array(
    parts.reduce((sum, part) => sum + part.data.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    data.set(part.data, at);
    at += part.data.length;
  }
  return tensor([data.length], data);
}
