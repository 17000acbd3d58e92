/** Weights of int8: weight = (data - zero) scale. */
import { describe, isList } from "../base/describe.ts";
import { elementCount } from "./tensor.ts";

/**
 * A weight of int8, with one scale for all of it or one for each index of its first axis, as ONNX's QuantizeLinear
 * with axis 0 makes it.
 */
export interface QuantizedTensor {
  /** Sizes of its axes, the slowest first. */
  readonly shape: readonly number[];
  /** Its elements, row-major; of ONNX's int8 or uint8. */
  readonly data: Int8Array | Uint8Array;
  /** One number, or one for each index of the first axis. */
  readonly scale: Float32Array;
  /** Zero points in the type of `data`, as many as scales; default 0. */
  readonly zero?: ArrayLike<number>;
}

/** What kernels take: signed bytes, and a scale and a zero point for each index of the first axis. */
export interface SignedWeights {
  /** The elements, row-major. */
  readonly values: Int8Array;
  /** What a step of one is worth. */
  readonly scale: Float32Array;
  /** The element that is 0. */
  readonly zero: Int32Array;
}

/** What unsigned bytes are less, and their zero points with them, to be signed. */
const MIDDLE = 128;

/**
 * A quantised weight in the kernels' terms.
 * @param what what to call it in messages
 * @throws TypeError when it is none, RangeError when its parts do not fit each other
 */
export function signedWeights(what: string, given: unknown): SignedWeights {
  const { shape, data, scale, zero } = (given ?? {}) as Partial<
    QuantizedTensor
  >;
  const isBytes = data instanceof Int8Array || data instanceof Uint8Array;
  if (!isList(shape) || !isBytes || !(scale instanceof Float32Array)) {
    throw new TypeError(
      `${what} is a quantised tensor, a shape with bytes and scales, got ${
        describe(given)
      }`,
    );
  }
  const rows = shape[0];
  const expect = (holds: boolean, message: string): void => {
    if (!holds) throw new RangeError(`${what} ${message}`);
  };
  expect(
    shape.length > 0 &&
      shape.every((size) => Number.isInteger(size) && size >= 1) &&
      elementCount(shape) === data.length,
    `has ${data.length} elements and shape ${describe(shape)}`,
  );
  expect(
    scale.length === 1 || scale.length === rows,
    `has ${scale.length} scales for ${rows} rows`,
  );
  expect(
    scale.every((one) => one > 0 && Number.isFinite(one)),
    "has a scale that is not positive",
  );
  expect(
    zero === undefined || zero.length === scale.length,
    `has ${zero?.length} zero points for ${scale.length} scales`,
  );
  const shift = data instanceof Uint8Array ? MIDDLE : 0;
  const zeros = Array.from(
    { length: rows },
    (_, i) => (zero?.[scale.length === 1 ? 0 : i] ?? 0) - shift,
  );
  expect(
    zeros.every((one) => Number.isInteger(one) && one >= -128 && one <= 127),
    "has a zero point that is none of its elements' values",
  );
  return {
    // Made in place: Int8Array.from goes through an iterator and a list of all elements.
    values: shift === 0
      ? data as Int8Array
      : new Int8Array(data).map((byte) => byte - shift),
    scale: scale.length === rows
      ? scale
      : new Float32Array(rows).fill(scale[0]),
    zero: Int32Array.from(zeros),
  };
}
