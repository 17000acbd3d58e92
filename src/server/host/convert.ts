/** Elements of one type as those of another. */
import { describe } from "../../base/describe.ts";
import {
  narrowBfloat16,
  narrowFloat16,
  widenBfloat16,
  widenFloat16,
} from "../../tensor/half.ts";
import {
  type Datatype,
  DATATYPE_ARRAYS,
  type FixedDatatype,
  type WireElements,
} from "./datatypes.ts";
import { InputError } from "./errors.ts";
import type { WireTensor } from "./served_model.ts";

const FLOATS: readonly Datatype[] = ["FP16", "BF16", "FP32", "FP64"];

/**
 * A tensor with elements of another type: floats are rounded to the nearest, integers have to be in its range.
 * @throws InputError when an element cannot be of that type
 */
export function converted(tensor: WireTensor, to: Datatype): WireTensor {
  const { name, datatype: from, shape, data } = tensor;
  if (from === to) return tensor;
  const isFloat = FLOATS.includes(to);
  if (from === "BYTES" || to === "BYTES" || FLOATS.includes(from) !== isFloat) {
    throw new InputError(`Input "${name}" is ${to}, got ${from}`);
  }
  return {
    name,
    datatype: to,
    shape,
    data: isFloat
      ? floats(data as FloatElements, from as FloatType, to as FloatType)
      : integers(name, data as IntegerElements, to as FixedDatatype),
  };
}

type FloatType = "FP16" | "BF16" | "FP32" | "FP64";
type FloatElements = Float32Array | Float64Array | Uint16Array;
type IntegerElements = Exclude<
  WireElements,
  Float32Array | Float64Array | readonly Uint8Array[]
>;

/** Floats of one type as another: what models compute in, single precision, is between them. */
export function floats(
  data: FloatElements,
  from: FloatType,
  to: FloatType,
): WireElements {
  const single = from === "FP16"
    ? widenFloat16(data as Uint16Array)
    : from === "BF16"
    ? widenBfloat16(data as Uint16Array)
    : Float32Array.from(data);
  if (to === "FP16") return narrowFloat16(single);
  if (to === "BF16") return narrowBfloat16(single);
  return to === "FP64" ? Float64Array.from(single) : single;
}

function integers(
  name: string,
  data: IntegerElements,
  to: FixedDatatype,
): WireElements {
  const made = new DATATYPE_ARRAYS[to](data.length) as IntegerElements;
  const isBig = made instanceof BigInt64Array || made instanceof BigUint64Array;
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    // What does not fit is wrapped, and so another number.
    made[i] = isBig ? BigInt(value) : Number(value);
    const isBool = to !== "BOOL" || value == 0 || value == 1;
    // deno-lint-ignore eqeqeq -- a bigint and a number of one value
    if (made[i] != value || !isBool) {
      throw new InputError(
        `Input "${name}" is ${to}, which has no ${describe(value)} (at ${i})`,
      );
    }
  }
  return made;
}
