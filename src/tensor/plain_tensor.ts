/**
 * Tensors of any element type and any dims, as files bring them and plain TypeScript computes on them:
 * a scalar has no dims, a dim may be 0. `Tensor` beside it is what weights and rows of kernels are.
 *
 * Types that no kernel computes in are widened where they are read: float16 and bfloat16 to float32
 * (exactly); float64 is narrowed to float32, to the nearest. Results are float32 then, not rounded back.
 */
import { describe, describeShape, isList } from "../base/describe.ts";
import { type Dtype, elementCount } from "./tensor.ts";

/** The array that holds elements of each type. A bool is 0 or 1. */
export interface PlainArrays {
  /** Single precision. */
  float32: Float32Array;
  /** Signed bytes. */
  int8: Int8Array;
  /** Signed, 16 bits. */
  int16: Int16Array;
  /** Signed, 32 bits. */
  int32: Int32Array;
  /** Signed, 64 bits. */
  int64: BigInt64Array;
  /** Bytes. */
  uint8: Uint8Array;
  /** 16 bits. */
  uint16: Uint16Array;
  /** 32 bits. */
  uint32: Uint32Array;
  /** 64 bits. */
  uint64: BigUint64Array;
  /** Bytes, 0 or 1. */
  bool: Uint8Array;
}

/** Element types. */
export type PlainType = keyof PlainArrays;

/**
 * A dense row-major array of elements of one type.
 * @typeParam T its element type; by default any, told apart by `type`
 */
export type PlainTensor<T extends PlainType = PlainType> = {
  [K in T]: {
    readonly type: K;
    /** Sizes of its axes, the slowest first; whole numbers from 0, none for a scalar. */
    readonly dims: readonly number[];
    /** As many elements as the product of the sizes. */
    readonly data: PlainArrays[K];
    /** Of integers that a file has in fewer bits than their type: how many. */
    readonly bits?: 2 | 4;
  };
}[T];

const ARRAYS: {
  readonly [T in PlainType]: {
    new (length: number): PlainArrays[T];
    readonly BYTES_PER_ELEMENT: number;
  };
} = {
  float32: Float32Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/** All element types. */
export const PLAIN_TYPES = Object.keys(ARRAYS) as readonly PlainType[];

/** What elements of rows are as a plain tensor's. */
export const PLAIN_TYPE_OF = {
  f32: "float32",
  i32: "int32",
  i64: "int64",
  i8: "int8",
  u8: "uint8",
  bool: "bool",
} as const satisfies Readonly<Record<Dtype, PlainType>>;

/** Bytes that an element takes. */
export function bytesOfType(type: PlainType): number {
  return ARRAYS[type].BYTES_PER_ELEMENT;
}

/** An array for that many elements of a type, all 0. */
export function newElements<T extends PlainType>(
  type: T,
  count: number,
): PlainArrays[T] {
  return new ARRAYS[type](count);
}

/** A tensor whose elements are all 0. */
export function zerosOf<T extends PlainType>(
  type: T,
  dims: readonly number[],
): PlainTensor<T> {
  return {
    type,
    dims,
    data: newElements(type, elementCount(dims)),
  } as PlainTensor<T>;
}

/**
 * A tensor over existing data, which is not copied.
 * @param dims sizes of the axes, the slowest first; none for a scalar
 * @param data its elements, row-major
 * @throws TypeError when the type is none, the dims are no list or the data are not the type's array; RangeError
 * when a dim is no whole number from 0, or dims and number of elements disagree
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { plainTensor } from "@shoal/core/onnx";
 *
 * const ids = plainTensor("int64", [1, 2], BigInt64Array.of(3n, 4n));
 * assert.equal(ids.data[1], 4n);
 * assert.throws(() => plainTensor("bool", [3], new Uint8Array(2)), RangeError);
 * ```
 */
export function plainTensor<T extends PlainType>(
  type: T,
  dims: readonly number[],
  data: PlainArrays[T],
): PlainTensor<T> {
  if (!Object.hasOwn(ARRAYS, type)) {
    throw new TypeError(
      `A plain tensor's type is one of ${PLAIN_TYPES.join(", ")}, got ${
        describe(type)
      }`,
    );
  }
  if (!isList(dims)) {
    throw new TypeError(
      `A plain tensor's dims are a list of sizes, got ${describe(dims)}`,
    );
  }
  if (!(data instanceof ARRAYS[type])) {
    throw new TypeError(
      `Data of a plain tensor of ${type} are ${
        article(ARRAYS[type] as unknown as { name: string })
      }, got ${describe(data)}`,
    );
  }
  if (!dims.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw new RangeError(
      `A plain tensor's dims are whole numbers from 0, got ${
        describeShape(dims)
      }`,
    );
  }
  if (elementCount(dims) !== data.length) {
    throw new RangeError(
      `A plain tensor of dims ${describeShape(dims)} has ${
        elementCount(dims)
      } elements, got ${data.length}`,
    );
  }
  return { type, dims, data } as PlainTensor<T>;
}

function article({ name }: { name: string }): string {
  return `${/^[AI]/.test(name) ? "an" : "a"} ${name}`;
}

/** A tensor of numbers written out, each rounded or wrapped as the type's array does. */
export function plainOf<T extends PlainType>(
  type: T,
  dims: readonly number[],
  values: Iterable<number | bigint>,
): PlainTensor<T> {
  const given = [...values];
  const data: PlainArrays[PlainType] = newElements(type, given.length);
  if (isBig(data)) data.set(given.map(BigInt));
  else data.set(given.map(Number));
  return plainTensor(type, dims, data as PlainArrays[T]);
}

/** A tensor without dims. */
export function scalarOf<T extends PlainType>(
  type: T,
  value: number | bigint,
): PlainTensor<T> {
  return plainOf(type, [], [value]);
}

/** Whether elements are bigints. */
export function isBig(
  data: PlainArrays[PlainType],
): data is BigInt64Array | BigUint64Array {
  return data instanceof BigInt64Array || data instanceof BigUint64Array;
}

/** Elements as numbers; of 64-bit integers beyond 2^53 the nearest. */
export function numbersOf({ data }: PlainTensor): number[] {
  return isBig(data) ? Array.from(data, Number) : Array.from(data);
}

/** The same elements under other dims; nothing is copied. */
export function withDims<P extends PlainTensor>(
  given: P,
  dims: readonly number[],
): P {
  return { ...given, dims };
}
