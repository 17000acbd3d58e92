/** Elements of one type as those of another. */
import { dataTypeName, plainTypeOf } from "../tensor/onnx_types.ts";
import {
  bytesOfType,
  isBig,
  PLAIN_TYPES,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import { input, requiredInt } from "./given.ts";
import { outputOf } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** What C programs make of a float that no int64 is. */
const INT64_MIN = -(2n ** 63n);

/** A float cut off to a whole number of 64 bits; of a type without a sign to twice as large a one. */
export function bigOf(x: number, type: PlainType): bigint {
  const end = type === "uint64" ? 2 ** 64 : 2 ** 63;
  return Math.abs(x) < end ? BigInt(Math.trunc(x)) : INT64_MIN;
}

/** Bits that f64 has no room for in an integer of 64. */
const SPARE_BITS = 11n;

/**
 * An integer of 64 bits as a number that rounds to f32 as the integer does: what f64 has no room for is kept in its
 * last bit. To the nearest f64 first, and to f32 then, would round twice.
 */
function roundableTo32(x: bigint): number {
  const near = Number(x);
  if (Math.abs(near) < 2 ** 53) return near;
  const isRest = BigInt.asUintN(Number(SPARE_BITS), x) !== 0n;
  return Number(x >> SPARE_BITS | (isRest ? 1n : 0n)) * 2 ** Number(SPARE_BITS);
}

/**
 * A tensor with its elements converted; itself when it has the type. Floats are cut off towards 0, integers wrap
 * around, bools are whether there is anything but 0. Floats that an integer type cannot hold are undefined by ONNX.
 */
export function converted<T extends PlainType>(
  x: PlainTensor,
  type: T,
): PlainTensor<T> {
  if (x.type === type) return x as PlainTensor<T>;
  const result = outputOf(type, x.dims);
  const to: PlainArrays[PlainType] = result.data;
  const from: PlainArrays[PlainType] = x.data;
  if (isBig(from) && !isBig(to)) fromBig(from, to, type === "bool");
  else if (type === "bool") {
    for (let i = 0; i < to.length; i++) to[i] = Number(Number(from[i]) !== 0);
  } else if (isBig(to)) {
    for (let i = 0; i < to.length; i++) {
      const element = from[i];
      to[i] = typeof element === "bigint" ? element : bigOf(element, type);
    }
  } else {
    for (let i = 0; i < to.length; i++) to[i] = from[i] as number;
  }
  return result;
}

/** Elements of 64 bits, word by word: a bigint is made of those alone that 32 bits do not hold. */
function fromBig(
  from: BigInt64Array | BigUint64Array,
  to: Exclude<PlainArrays[PlainType], BigInt64Array | BigUint64Array>,
  isBool: boolean,
): void {
  const words = new Int32Array(from.buffer, from.byteOffset, 2 * from.length);
  const keepsLow = !isBool && !(to instanceof Float32Array);
  const negative = from instanceof BigInt64Array ? -1 : NaN;
  for (let i = 0; i < to.length; i++) {
    const low = words[2 * i];
    const high = words[2 * i + 1];
    if (isBool) to[i] = (low | high) === 0 ? 0 : 1;
    else if (keepsLow || (low < 0 ? high === negative : high === 0)) {
      to[i] = low;
    } else to[i] = roundableTo32(from[i]);
  }
}

/** The type that a data type of ONNX is computed in. @throws RangeError when there is none */
export function typeOf(attribute: string, dataType: number): PlainType {
  const type = plainTypeOf(dataType);
  if (!type) {
    throw new RangeError(
      `attribute ${attribute} is ${
        dataTypeName(dataType)
      }, which is not supported`,
    );
  }
  return type;
}

export const CONVERSIONS: Readonly<Record<string, PlainOperator>> = {
  Cast: {
    since: [6, 9, 13, 19, 21, 23, 24, 25, 28],
    types: PLAIN_TYPES,
    limits:
      "to float16, bfloat16 or float64: stays float32, not rounded; no float8, int4, strings",
    run: (inputs, attributes) => [
      converted(
        input(inputs, 0, "input"),
        typeOf("to", requiredInt(attributes, "to")),
      ),
    ],
  },
  BitCast: {
    since: [26],
    types: PLAIN_TYPES,
    limits: "between types that keep their size: no float16, bfloat16, float64",
    run: (inputs, attributes) => {
      const x = input(inputs, 0, "input");
      const to = requiredInt(attributes, "to");
      const type = typeOf("to", to);
      if (
        dataTypeName(to) !== type || bytesOfType(type) !== bytesOfType(x.type)
      ) {
        throw new TypeError(
          `attribute to is ${dataTypeName(to)}, input 0 ${x.type}`,
        );
      }
      const result = outputOf(type, x.dims);
      const { buffer, byteOffset, byteLength } = x.data;
      new Uint8Array(result.data.buffer).set(
        new Uint8Array(buffer, byteOffset, byteLength),
      );
      return [result];
    },
  },
  CastLike: {
    since: [15, 19, 21, 23, 24, 25],
    types: PLAIN_TYPES,
    limits: "as Cast",
    run: (inputs) => [
      converted(
        input(inputs, 0, "input"),
        input(inputs, 1, "target_type").type,
      ),
    ],
  },
};
