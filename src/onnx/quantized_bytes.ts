/** Values and weights of int8 and uint8, and what is known of the sums they lead to. */
import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";
import type { QuantizedTensor } from "../tensor/quantized.ts";

/** Domain of nodes that patterns have become and only lowerings know. */
export const QUANTIZED_DOMAIN = "shoal.quantized";

/** Types that kernels take. */
export type ByteType = "int8" | "uint8";

/** What unsigned bytes are more than signed ones. */
const MIDDLE = 128;

export function isByteType(type: PlainType): type is ByteType {
  return type === "int8" || type === "uint8";
}

/** A zero point of a type as that of unsigned bytes. */
export function unsignedZero(type: ByteType, zero: number): number {
  return type === "int8" ? zero + MIDDLE : zero;
}

/** The one number of a constant; undefined where there are more, or none. */
export function scalarIn(given: PlainTensor | undefined): number | undefined {
  return given?.data.length === 1 ? Number(given.data[0]) : undefined;
}

/** Bytes, one row of them for each output, with a zero point each. */
export interface WeightBytes {
  /** Sizes of the axes; the first one is the outputs. */
  readonly shape: readonly number[];
  readonly data: Int8Array | Uint8Array;
  /** One for each output, in the type of `data`. */
  readonly zero: Int32Array;
}

/** Sums of which every one is a 32-bit integer. */
const SUM_MAX = 2 ** 31 - 1;

/** Whole numbers up to here are floats. */
const WHOLE_MAX = 2 ** 24;

/** One number for each of `count` outputs, of a scalar or a vector. */
export function perOutput(
  given: PlainTensor | undefined,
  count: number,
): number[] | undefined {
  if (given === undefined) return undefined;
  const { data, dims } = given;
  const isVector = dims.length === 1 && data.length === count;
  if (data.length !== 1 && !isVector) return undefined;
  return Array.from(
    { length: count },
    (_, i) => Number(data[data.length === 1 ? 0 : i]),
  );
}

/**
 * A constant of bytes whose outputs are its first axis.
 * @param zero a scalar or one for each output; undefined: 0
 * @returns undefined where it is none that kernels take
 */
export function weightBytes(
  weight: PlainTensor | undefined,
  zero: PlainTensor | undefined,
): WeightBytes | undefined {
  if (!weight || !isByteType(weight.type)) return undefined;
  const { dims: shape, data } = weight as PlainTensor<"int8" | "uint8">;
  const zeros = zero
    ? perOutput(zero, shape[0])
    : new Array<number>(shape[0]).fill(0);
  if (!zeros || zero && zero.type !== weight.type) return undefined;
  const made = { shape, data, zero: Int32Array.from(zeros) };
  const shift = weight.type === "uint8" ? MIDDLE : 0;
  const distance = made.zero.reduce(
    (most, one) =>
      Math.max(most, 128 + Math.abs(one - shift), 127 + Math.abs(one - shift)),
    0,
  );
  // As packing checks it, whatever the bytes are.
  const taps = data.length / shape[0];
  return taps * 255 * distance <= SUM_MAX ? made : undefined;
}

/** The same of a matrix [k][n], of which outputs are columns. */
export function transposedBytes(
  weight: PlainTensor | undefined,
): PlainTensor | undefined {
  if (!weight || !isByteType(weight.type) || weight.dims.length !== 2) {
    return undefined;
  }
  const [k, n] = weight.dims;
  const { type, data } = weight as PlainTensor<"int8" | "uint8">;
  const turned = type === "int8"
    ? new Int8Array(data.length)
    : new Uint8Array(data.length);
  for (let i = 0; i < k; i++) {
    for (let j = 0; j < n; j++) turned[j * k + i] = data[i * n + j];
  }
  return { type, dims: [n, k], data: turned } as PlainTensor;
}

/** With scales, one for all or one for each output. */
export function withScales(
  weight: WeightBytes,
  scales: readonly number[],
): QuantizedTensor {
  const { shape, data, zero } = weight;
  const all = scales.length === 1
    ? new Float32Array(shape[0]).fill(scales[0])
    : Float32Array.from(scales);
  return { shape, data, zero, scale: all };
}

/**
 * Whether sums and biases are floats whatever the bytes are, so that their sum is rounded once, as that of integers is
 * where it becomes a float.
 * @param zero zero point of what is multiplied, of unsigned bytes
 */
export function sumsAreFloats(
  { shape, data, zero: zeros }: WeightBytes,
  zero: number,
  bias: ArrayLike<number>,
): boolean {
  const taps = data.length / shape[0];
  const far = Math.max(zero, 255 - zero);
  return zeros.every((weightZero, row) => {
    const least = row * taps;
    let sum = 0;
    for (let i = least; i < least + taps; i++) {
      sum += Math.abs(data[i] - weightZero);
    }
    return sum * far <= WHOLE_MAX && Math.abs(bias[row]) <= WHOLE_MAX;
  });
}

/** A positive number that f32 has. */
export function isScale(given: number | undefined): given is number {
  return given !== undefined && given > 0 && Number.isFinite(given);
}

/** Factors from sums to results, f32 operation by operation; undefined where one is no float. */
export function factorsOf(
  x: number,
  weights: readonly number[],
  y: number,
): number[] | undefined {
  const factors = weights.map((weight) =>
    Math.fround(Math.fround(x * weight) / y)
  );
  return factors.every(isScale) ? factors : undefined;
}
