/**
 * One element in, one out. Floats are computed in f64 and rounded once, to f32; the integers of operators that
 * take them are computed as such.
 */
import { exp, expm1 } from "../base/elementary/exponential.ts";
import {
  acosh,
  asinh,
  atanh,
  cosh,
  sinh,
  tanh,
} from "../base/elementary/hyperbolic.ts";
import { acos, asin, atan } from "../base/elementary/inverse_trigonometric.ts";
import { log } from "../base/elementary/logarithm.ts";
import { cos, sin, tan } from "../base/elementary/trigonometric.ts";
import {
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import {
  BOOLS,
  choice,
  flag,
  float,
  FLOATS,
  input,
  INTEGERS,
} from "./given.ts";
import { outputOf } from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";
import {
  erf,
  gelu,
  geluTanh,
  roundHalfEven,
  sigmoid,
  softplus,
} from "./functions.ts";

type Scalar = (x: number) => number;

/** Types with a sign. */
const SIGNED: readonly PlainType[] = [
  "float32",
  "int8",
  "int16",
  "int32",
  "int64",
];
const NUMBERS: readonly PlainType[] = [...FLOATS, ...INTEGERS];

/** Applies a function to every element; bigints go through `big`. */
export function mapped<T extends PlainType>(
  x: PlainTensor,
  type: T,
  f: Scalar,
  big: (x: bigint) => bigint = (x) => BigInt(f(Number(x))),
): PlainTensor<T> {
  const result = outputOf(type, x.dims);
  const to: PlainArrays[PlainType] = result.data;
  const from: PlainArrays[PlainType] = x.data;
  if (isBig(from)) {
    if (isBig(to)) { for (let i = 0; i < to.length; i++) to[i] = big(from[i]); }
    else for (let i = 0; i < to.length; i++) to[i] = f(Number(from[i]));
  } else if (!isBig(to)) {
    for (let i = 0; i < to.length; i++) to[i] = f(from[i]);
  }
  return result;
}

function unary(
  since: readonly number[],
  f: (attributes: PlainAttributes, opset: number) => Scalar,
  types: readonly PlainType[] = FLOATS,
  big?: (x: bigint) => bigint,
): PlainOperator {
  return {
    since,
    types,
    run: (inputs, attributes, { opset }) => {
      const x = input(inputs, 0, "X");
      return [mapped(x, x.type, f(attributes, opset), big)];
    },
  };
}

/** One element in, a bool out. */
function predicate(
  since: readonly number[],
  types: readonly PlainType[],
  f: (attributes: PlainAttributes) => (x: number) => boolean,
): PlainOperator {
  return {
    since,
    types,
    run: (inputs, attributes) => {
      const holds = f(attributes);
      return [mapped(input(inputs, 0, "X"), "bool", (x) => Number(holds(x)))];
    },
  };
}

const plainly = (f: Scalar) => () => f;

export const UNARY: Readonly<Record<string, PlainOperator>> = {
  Abs: unary([1, 6, 13], plainly(Math.abs), NUMBERS, (x) => x < 0n ? -x : x),
  Neg: unary([1, 6, 13], plainly((x) => -x), SIGNED, (x) => -x),
  Sign: unary(
    [9, 13],
    plainly(Math.sign),
    NUMBERS,
    (x) => x > 0n ? 1n : x < 0n ? -1n : 0n,
  ),
  Ceil: unary([1, 6, 13], plainly(Math.ceil)),
  Floor: unary([1, 6, 13], plainly(Math.floor)),
  Round: unary([11, 22], plainly(roundHalfEven)),
  Reciprocal: unary([1, 6, 13], plainly((x) => 1 / x)),
  Sqrt: unary([1, 6, 13], plainly(Math.sqrt)),
  Exp: unary([1, 6, 13], plainly(exp)),
  Log: unary([1, 6, 13], plainly(log)),
  Erf: unary([9, 13], plainly(erf), NUMBERS),
  Sin: unary([7, 22], plainly(sin)),
  Cos: unary([7, 22], plainly(cos)),
  Tan: unary([7, 22], plainly(tan)),
  Asin: unary([7, 22], plainly(asin)),
  Acos: unary([7, 22], plainly(acos)),
  Atan: unary([7, 22], plainly(atan)),
  Sinh: unary([9, 22], plainly(sinh)),
  Cosh: unary([9, 22], plainly(cosh)),
  Tanh: unary([1, 6, 13], plainly(tanh)),
  Asinh: unary([9, 22], plainly(asinh)),
  Acosh: unary([9, 22], plainly(acosh)),
  Atanh: unary([9, 22], plainly(atanh)),

  Relu: unary(
    [1, 6, 13, 14],
    plainly((x) => x < 0 ? 0 : x),
    SIGNED,
    (x) => x < 0n ? 0n : x,
  ),
  LeakyRelu: unary([1, 6, 16], (attributes) => {
    const alpha = float(attributes, "alpha", 0.01);
    return (x) => x < 0 ? alpha * x : x;
  }),
  ThresholdedRelu: unary([10, 22], (attributes) => {
    const alpha = float(attributes, "alpha", 1);
    // What is not above alpha is 0, also what is no number.
    return (x) => x > alpha ? x : 0;
  }),
  Elu: unary([1, 6, 22], (attributes) => {
    const alpha = float(attributes, "alpha", 1);
    return (x) => x < 0 ? alpha * expm1(x) : x;
  }),
  Celu: unary([12, 28], (attributes) => {
    const alpha = float(attributes, "alpha", 1);
    return (x) => Math.max(0, x) + Math.min(0, alpha * expm1(x / alpha));
  }),
  Selu: unary([1, 6, 22], (attributes, opset) => {
    // The first version had its constants written out shorter.
    const alpha = float(
      attributes,
      "alpha",
      opset < 6 ? 1.6732 : 1.67326319217681884765625,
    );
    const gamma = float(
      attributes,
      "gamma",
      opset < 6 ? 1.0507 : 1.05070102214813232421875,
    );
    return (x) => gamma * (x <= 0 ? alpha * expm1(x) : x);
  }),
  Sigmoid: unary([1, 6, 13], plainly(sigmoid)),
  HardSigmoid: unary([1, 6, 22], (attributes) => {
    const alpha = float(attributes, "alpha", 0.2);
    const beta = float(attributes, "beta", 0.5);
    return (x) => Math.max(0, Math.min(1, alpha * x + beta));
  }),
  HardSwish: unary(
    [14, 22],
    plainly((x) => x * Math.max(0, Math.min(1, x / 6 + 0.5))),
  ),
  Softplus: unary([1, 22], plainly(softplus)),
  Softsign: unary([1, 22], plainly((x) => x / (1 + Math.abs(x)))),
  Mish: unary([18, 22], plainly((x) => x * tanh(softplus(x)))),
  Swish: unary([24], (attributes) => {
    const alpha = float(attributes, "alpha", 1);
    return (x) => x * sigmoid(alpha * x);
  }),
  Gelu: unary(
    [20],
    (attributes) =>
      choice(attributes, "approximate", ["none", "tanh"]) === "tanh"
        ? geluTanh
        : gelu,
  ),
  Shrink: unary([9], (attributes) => {
    const lambda = float(attributes, "lambd", 0.5);
    const bias = float(attributes, "bias", 0);
    return (x) => x < -lambda ? x + bias : x > lambda ? x - bias : 0;
  }, NUMBERS),

  Not: predicate([1], BOOLS, () => (x) => x === 0),
  IsNaN: predicate([9, 13, 20], FLOATS, () => Number.isNaN),
  IsInf: predicate([10, 20], FLOATS, (attributes) => {
    const negative = flag(attributes, "detect_negative", true);
    const positive = flag(attributes, "detect_positive", true);
    return (x) => negative && x === -Infinity || positive && x === Infinity;
  }),
  BitwiseNot: unary([18], plainly((x) => ~x), INTEGERS, (x) => ~x),
};
