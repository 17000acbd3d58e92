import { describe } from "../base/describe.ts";
import { DTYPES, elements, holds, type TensorData } from "../tensor/tensor.ts";
import { lengthOf } from "../tensor/typed_array.ts";

/**
 * Data a request brings along, made by `CellGraph.ids`, `rows` and `data`; lives in its slot from arrival to
 * departure.
 */
export class InputData {
  /**
   * Byte offset within the slot; assigned by the slot plan.
   * @internal
   */
  offset = -1;
  #data: TensorData;

  /**
   * Use `CellGraph.ids`, `rows` or `data`.
   * @internal
   */
  constructor(
    /** The graph of the request that brings them. */
    readonly graph: object,
    data: TensorData,
  ) {
    this.#data = data;
  }

  /** A copy of the numbers that the model handed over; none of them once they are forgotten. */
  get data(): TensorData {
    return this.#data;
  }

  /**
   * They are in the slot, and nobody needs them here.
   * @internal
   */
  forget(): void {
    this.#data = this.#data.slice(0, 0);
  }
}

/** Elements of the engine's memory, 4 GiB: no request brings more. */
const ELEMENTS_MAX = 2 ** 30;

/**
 * Copies numbers that a request brings into `Data`. Their number is read once: what it is asked for again,
 * a proxy may answer otherwise.
 * @throws TypeError when they are no list of numbers, RangeError when they are too many or no integers of 32 bits where
 * `Data` holds these
 */
export function elementsOf<Data extends Float32Array | Int32Array>(
  values: unknown,
  Data: new (length: number) => Data,
): Data {
  const list = values as ArrayLike<number> | undefined | null;
  const length: unknown = typeof list === "object" ? list?.length : undefined;
  if (!Number.isInteger(length) || (length as number) < 0) {
    throw new TypeError(
      `A request brings lists of numbers, got ${describe(values)}`,
    );
  }
  const count = length as number;
  if (count > ELEMENTS_MAX) {
    throw new RangeError(
      `A request brings up to ${ELEMENTS_MAX} numbers at once, got ${count}`,
    );
  }
  const data = new Data(count);
  const areFloats = data instanceof Float32Array;
  for (let i = 0; i < count; i++) {
    const value: unknown = list![i];
    const isNumber = typeof value === "number";
    if (isNumber) data[i] = value;
    // An id that does not fit is another one by now.
    if (isNumber && (areFloats || data[i] === value)) continue;
    throw new (isNumber ? RangeError : TypeError)(
      `A request brings ${areFloats ? "numbers" : "ids of 32 bits"}, got ${
        describe(value)
      } at ${i}`,
    );
  }
  return data;
}

/**
 * A copy of what a request brings.
 * @throws TypeError when it is no array of a type that rows have
 */
export function copyOf(values: unknown): TensorData {
  const dtype = DTYPES.find((dtype) => holds(dtype, values));
  if (dtype !== undefined) {
    // Its own `slice` may be another: that of Node's Buffers gives the same memory.
    const copy = elements(dtype, lengthOf(values as TensorData));
    copy.set(values as never);
    return copy;
  }
  throw new TypeError(
    `A request brings a Float32Array, Int32Array, BigInt64Array, Int8Array or Uint8Array, got ${
      describe(values)
    }`,
  );
}
