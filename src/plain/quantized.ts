/**
 * Integers with a scale and a zero point. Products of integers are summed exactly; what is scaled back is, as in
 * ONNX Runtime, in f32 operation by operation: the sum, times the scales of the inputs over that of the output,
 * to the nearest whole number (of two the even one), plus the zero point, cut off at the type's bounds.
 */
import { describeShape } from "../base/describe.ts";
import {
  isBig,
  type PlainArrays,
  plainOf,
  type PlainTensor,
  type PlainType,
  scalarOf,
  withDims,
} from "../tensor/plain_tensor.ts";
import { convolved, type NumberArray } from "./convolution.ts";
import { typeOf } from "./convert.ts";
import { roundHalfEven } from "./functions.ts";
import {
  BYTES,
  checkRank,
  FLOATS,
  floats,
  input,
  int,
  optional,
  type PlainInputs,
} from "./given.ts";
import {
  axisOf,
  broadcastDims,
  broadcastPositions,
  mappedPositions,
  outputOf,
  sameDims,
  stridesOf,
  upTo,
} from "./layout.ts";
import { multiplied } from "./matrix.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

/** Types that floats are quantised to. */
const QUANTIZED: readonly PlainType[] = ["uint8", "int8", "uint16", "int16"];

const LIMITS: Partial<
  Record<PlainType, readonly [least: number, most: number]>
> = {
  uint8: [0, 255],
  int8: [-128, 127],
  uint16: [0, 65535],
  int16: [-32768, 32767],
};

/** A whole number, cut off at the bounds of a type. */
function saturated(type: PlainType, value: number): number {
  const [least, most] = LIMITS[type] ?? [-Infinity, Infinity];
  return Math.max(least, Math.min(most, value));
}

/** The nearest whole number, of two the even one; what is no number is none, and becomes the zero point. */
function wholeSteps(steps: number): number {
  return Number.isNaN(steps) ? 0 : roundHalfEven(steps);
}

/** Elements as numbers; none of the types here are bigints. */
function numbers({ type, data }: PlainTensor): ArrayLike<number> {
  const elements: PlainArrays[PlainType] = data;
  if (isBig(elements)) throw new TypeError(`${type} is not quantised`);
  return elements;
}

/** Which scale each element has: one for all, one for each index of an axis, or one for each block of an axis. */
function scaleOf(
  scale: PlainTensor,
  dims: readonly number[],
  attributes: PlainAttributes,
): Int32Array {
  if (scale.data.length === 1) {
    return new Int32Array(outputOf("bool", dims).data.length);
  }
  const axis = axisOf(int(attributes, "axis", 1), dims.length);
  const block = int(attributes, "block_size", 0);
  const isBlocked = block > 0;
  const expected = isBlocked
    ? dims.with(axis, Math.ceil(dims[axis] / block))
    : [dims[axis]];
  if (!sameDims(scale.dims, expected)) {
    throw new RangeError(
      `a scale or zero point has dims ${describeShape(scale.dims)}, expected ${
        describeShape(expected)
      }`,
    );
  }
  const maps = dims.map((size, at) =>
    at === axis
      ? upTo(size).map((i) => isBlocked ? Math.floor(i / block) : i)
      : isBlocked
      ? upTo(size)
      : new Int32Array(size)
  );
  const strides = isBlocked ? stridesOf(expected) : dims.map(() => 1);
  return mappedPositions(maps, strides);
}

const QuantizeLinear: PlainOperator = {
  since: [10, 13, 19, 21, 23, 24, 25, 28],
  types: [...FLOATS, "int32"],
  limits:
    "to 8 and 16 bits; no floats of 8 bits or less, no integers of 4 or 2 bits",
  run: (inputs, attributes) => {
    const x = input(inputs, 0, "x");
    const scale = floats(inputs, 1, "y_scale");
    const zero = optional(inputs, 2, "y_zero_point", QUANTIZED);
    const declared = int(attributes, "output_dtype", 0);
    const type = declared === 0
      ? zero?.type ?? "uint8"
      : typeOf("output_dtype", declared);
    if (!QUANTIZED.includes(type) || zero && zero.type !== type) {
      throw new TypeError(
        `y is ${type}, y_zero_point ${
          zero?.type ?? "left out"
        }; expected one of ${QUANTIZED.join(", ")}`,
      );
    }
    const at = scaleOf(scale, x.dims, attributes);
    const zeroAt = zero && scaleOf(zero, x.dims, attributes);
    const result = outputOf(type, x.dims);
    const to = result.data as Int32Array;
    const from = numbers(x);
    for (let i = 0; i < to.length; i++) {
      const steps = wholeSteps(Math.fround(from[i] / scale.data[at[i]]));
      const offset = zeroAt ? Number(zero.data[zeroAt[i]]) : 0;
      to[i] = saturated(type, steps + offset);
    }
    return [result];
  },
};

const DequantizeLinear: PlainOperator = {
  since: [10, 13, 19, 21, 23, 24, 25, 28],
  types: [...QUANTIZED, "int32"],
  limits:
    "from integers, of 4 and 2 bits constants alone; no floats of 8 bits or less",
  run: (inputs, attributes) => {
    const x = input(inputs, 0, "x");
    const scale = floats(inputs, 1, "x_scale");
    const zero = optional(inputs, 2, "x_zero_point", [x.type]);
    const at = scaleOf(scale, x.dims, attributes);
    const zeroAt = zero && scaleOf(zero, x.dims, attributes);
    const result = outputOf("float32", x.dims);
    const from = numbers(x);
    for (let i = 0; i < from.length; i++) {
      const offset = zeroAt ? Number(zero.data[zeroAt[i]]) : 0;
      result.data[i] = Math.fround(from[i] - offset) * scale.data[at[i]];
    }
    return [result];
  },
};

/** Scale and zero point so that what is there, and 0, are just in the range of uint8. */
const DynamicQuantizeLinear: PlainOperator = {
  since: [11],
  types: FLOATS,
  run: (inputs) => {
    const x = floats(inputs, 0, "x");
    let [least, most] = [0, 0];
    for (const element of x.data) {
      least = Math.min(least, element);
      most = Math.max(most, element);
    }
    // Where all is 0, any scale will do; ONNX Runtime takes 1.
    const scale = least === most
      ? 1
      : Math.fround(Math.fround(most - least) / 255);
    const zero = wholeSteps(saturated("uint8", -Math.fround(least / scale)));
    const y = outputOf("uint8", x.dims);
    for (let i = 0; i < x.data.length; i++) {
      const steps = wholeSteps(Math.fround(x.data[i] / scale));
      y.data[i] = saturated("uint8", steps + zero);
    }
    return [y, scalarOf("float32", scale), scalarOf("uint8", zero)];
  },
};

/** Elements less their zero points, which broadcast. */
function shifted(x: PlainTensor, zero: PlainTensor | undefined): NumberArray {
  const from = numbers(x);
  if (!zero) return { dims: x.dims, data: from };
  const at = broadcastPositions(zero.dims, x.dims);
  const offsets = numbers(zero);
  return {
    dims: x.dims,
    data: Int32Array.from(from, (value, i) => value - offsets[at[i]]),
  };
}

/** A vector with one number for each row, as a column; anything else as it is. */
function perRow(given: PlainTensor): PlainTensor;
function perRow(given: PlainTensor | undefined): PlainTensor | undefined;
function perRow(given: PlainTensor | undefined): PlainTensor | undefined {
  return given?.dims.length === 1 && given.dims[0] > 1
    ? withDims(given, [given.dims[0], 1])
    : given;
}

/** A vector with one number for each channel, to be broadcast over [N, C, spatial...] from its axis on. */
function perChannel<P extends PlainTensor | undefined>(
  given: P,
  behind: number,
): P {
  return given && given.data.length > 1
    ? withDims(given, [
      given.data.length,
      ...new Array<number>(behind).fill(1),
    ])
    : given;
}

function int32(
  { dims, sums }: { dims: readonly number[]; sums: Float64Array },
): PlainTensor {
  return { type: "int32", dims, data: Int32Array.from(sums) };
}

const MatMulInteger: PlainOperator = {
  since: [10],
  types: BYTES,
  run: (inputs) => {
    const a = input(inputs, 0, "A", BYTES);
    const b = input(inputs, 1, "B", BYTES);
    const aZero = optional(inputs, 2, "a_zero_point", [a.type]);
    const bZero = optional(inputs, 3, "b_zero_point", [b.type]);
    return [
      int32(multiplied(shifted(a, perRow(aZero)), shifted(b, bZero))),
    ];
  },
};

const ConvInteger: PlainOperator = {
  since: [10],
  types: BYTES,
  run: (inputs, attributes) => {
    const x = input(inputs, 0, "x", BYTES);
    const w = input(inputs, 1, "w", BYTES);
    checkRank(0, "x", x, 3);
    checkRank(1, "w", w, 3);
    const xZero = optional(inputs, 2, "x_zero_point", [x.type]);
    const wZero = optional(inputs, 3, "w_zero_point", [w.type]);
    return [
      int32(
        convolved(
          shifted(x, xZero),
          shifted(w, perChannel(wZero, w.dims.length - 1)),
          attributes,
        ),
      ),
    ];
  },
};

/** A tensor's three inputs: elements, scale, zero point. */
function quantizedInput(
  inputs: PlainInputs,
  first: number,
  name: string,
): { x: PlainTensor; scale: PlainTensor<"float32">; zero: PlainTensor } {
  const x = input(inputs, first, name, BYTES);
  return {
    x,
    scale: floats(inputs, first + 1, `${name}_scale`),
    zero: input(inputs, first + 2, `${name}_zero_point`, [x.type]),
  };
}

/** Scale of sums over scale of the result, f32 operation by operation. */
function multiplier(
  a: PlainTensor<"float32">,
  b: PlainTensor<"float32">,
  y: PlainTensor<"float32">,
): PlainTensor<"float32"> {
  const dims = broadcastDims(a.dims, b.dims, y.dims);
  const [at, bt, yt] = [a, b, y].map((scale) =>
    broadcastPositions(scale.dims, dims)
  );
  const products = Array.from(at, (_, i) => {
    const product = Math.fround(a.data[at[i]] * b.data[bt[i]]);
    return Math.fround(product / y.data[yt[i]]);
  });
  return plainOf("float32", dims, products);
}

/** Sums scaled to a result's type. */
function requantized(
  { dims, sums }: { dims: readonly number[]; sums: Float64Array },
  scale: PlainTensor<"float32">,
  zero: PlainTensor,
): PlainTensor {
  const result = outputOf(zero.type, dims);
  const to = result.data as Int32Array;
  const at = broadcastPositions(scale.dims, dims);
  const zeroAt = broadcastPositions(zero.dims, dims);
  const zeros = numbers(zero);
  for (let i = 0; i < to.length; i++) {
    const scaled = Math.fround(Math.fround(sums[i]) * scale.data[at[i]]);
    to[i] = saturated(zero.type, wholeSteps(scaled) + zeros[zeroAt[i]]);
  }
  return result;
}

/** Scale and zero point of the result. */
function resultScale(inputs: PlainInputs, first: number) {
  return {
    scale: floats(inputs, first, "y_scale"),
    zero: input(inputs, first + 1, "y_zero_point", BYTES),
  };
}

const QLinearMatMul: PlainOperator = {
  since: [10, 21],
  types: BYTES,
  run: (inputs) => {
    const a = quantizedInput(inputs, 0, "a");
    const b = quantizedInput(inputs, 3, "b");
    const y = resultScale(inputs, 6);
    const product = multiplied(
      shifted(a.x, perRow(a.zero)),
      shifted(b.x, b.zero),
    );
    const aScale = perRow(a.scale) as PlainTensor<"float32">;
    return [
      requantized(
        product,
        multiplier(aScale, b.scale, perRow(y.scale) as PlainTensor<"float32">),
        perRow(y.zero),
      ),
    ];
  },
};

const QLinearConv: PlainOperator = {
  since: [10],
  types: BYTES,
  run: (inputs, attributes) => {
    const x = quantizedInput(inputs, 0, "x");
    const w = quantizedInput(inputs, 3, "w");
    const y = resultScale(inputs, 6);
    const bias = optional(inputs, 8, "B", ["int32"]);
    checkRank(0, "x", x.x, 3);
    checkRank(3, "w", w.x, 3);
    const behind = x.x.dims.length - 2;
    const { dims, sums } = convolved(
      shifted(x.x, x.zero),
      shifted(w.x, perChannel(w.zero, behind + 1)),
      attributes,
    );
    if (bias) {
      const at = broadcastPositions(
        [bias.data.length, ...new Array<number>(behind).fill(1)],
        dims,
      );
      const more = numbers(bias);
      for (let i = 0; i < sums.length; i++) sums[i] += more[at[i]];
    }
    return [
      requantized(
        { dims, sums },
        multiplier(x.scale, perChannel(w.scale, behind), y.scale),
        y.zero,
      ),
    ];
  },
};

export const QUANTIZED_OPERATORS: Readonly<Record<string, PlainOperator>> = {
  QuantizeLinear,
  DequantizeLinear,
  DynamicQuantizeLinear,
  MatMulInteger,
  ConvInteger,
  QLinearMatMul,
  QLinearConv,
};
