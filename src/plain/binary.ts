/**
 * Two elements in, one out, broadcast. Floats are computed in f64 and rounded once, to f32; integers wrap around
 * as their type does.
 */
import { power } from "../base/elementary/power.ts";
import {
  bytesOfType,
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
  withDims,
} from "../tensor/plain_tensor.ts";
import {
  BOOLS,
  choice,
  flag,
  float,
  FLOATS,
  INDICES,
  input,
  INTEGERS,
  NUMBERS,
  optionalInt,
} from "./given.ts";
import { bigOf, converted } from "./convert.ts";
import { sigmoid } from "./functions.ts";
import { broadcastDims, broadcastTo, checkOutput, outputOf } from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

type Numbers<R = number> = (a: number, b: number) => R;
type Bigs<R = bigint> = (a: bigint, b: bigint) => R;

/** Applies a function to pairs of elements of two tensors of one type; 64-bit integers go through `big`. */
export function mapped2<T extends PlainType>(
  a: PlainTensor,
  b: PlainTensor,
  type: T,
  f: Numbers,
  big: Bigs<bigint | number>,
): PlainTensor<T> {
  if (a.type !== b.type) {
    throw new TypeError(
      `inputs are ${a.type} and ${b.type}, expected one type`,
    );
  }
  const dims = broadcastDims(a.dims, b.dims);
  checkOutput(dims);
  const left: PlainArrays[PlainType] = broadcastTo(a, dims).data;
  const right: PlainArrays[PlainType] = broadcastTo(b, dims).data;
  const result = outputOf(type, dims);
  const to: PlainArrays[PlainType] = result.data;
  if (isBig(left) && isBig(right)) {
    for (let i = 0; i < to.length; i++) to[i] = big(left[i], right[i]);
  } else if (!isBig(left) && !isBig(right)) {
    for (let i = 0; i < to.length; i++) to[i] = f(left[i], right[i]);
  }
  return result;
}

/**
 * Inputs a and b; before version 7 of the operator set, b's axes lie under a's from attribute `axis` on, and
 * only where `broadcast` says so.
 */
function pair(
  inputs: readonly (PlainTensor | undefined)[],
  attributes: PlainAttributes,
  opset: number,
): [PlainTensor, PlainTensor] {
  const a = input(inputs, 0, "A");
  const b = input(inputs, 1, "B");
  const axis = opset < 7 && flag(attributes, "broadcast")
    ? optionalInt(attributes, "axis")
    : undefined;
  if (axis === undefined) return [a, b];
  const first = axis < 0 ? axis + a.dims.length : axis;
  const behind = Math.max(0, a.dims.length - first - b.dims.length);
  return [a, withDims(b, [...b.dims, ...new Array<number>(behind).fill(1)])];
}

interface Arithmetic {
  since: readonly number[];
  types?: readonly PlainType[];
  float: Numbers;
  /** Of integers that are no bigints, when it differs. */
  integer?: Numbers;
  big: Bigs;
}

function arithmetic(
  { since, types = NUMBERS, float, integer = float, big }: Arithmetic,
): PlainOperator {
  return {
    since,
    types,
    run: (inputs, attributes, { opset }) => {
      const [a, b] = pair(inputs, attributes, opset);
      const f = a.type === "float32" ? float : integer;
      return [mapped2(a, b, a.type, f, big)];
    },
  };
}

function comparison(
  since: readonly number[],
  types: readonly PlainType[],
  f: Numbers<boolean>,
  big: Bigs<boolean>,
): PlainOperator {
  return {
    since,
    types,
    run: (inputs, attributes, { opset }) => {
      const [a, b] = pair(inputs, attributes, opset);
      return [
        mapped2(
          a,
          b,
          "bool",
          (x, y) => Number(f(x, y)),
          (x, y) => Number(big(x, y)),
        ),
      ];
    },
  };
}

/** Quotient of integers, towards 0. */
function divided(a: number, b: number): number {
  if (b === 0) throw new RangeError("division of an integer by 0");
  return Math.trunc(a / b);
}

function dividedBig(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new RangeError("division of an integer by 0");
  return a / b;
}

/** Remainder with the sign of the dividend. */
function remainder(a: number, b: number): number {
  if (b === 0) throw new RangeError("remainder of a division by 0");
  return a % b;
}

function remainderBig(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new RangeError("remainder of a division by 0");
  return a % b;
}

/** Remainder with the sign of the divisor. */
function modulo(a: number, b: number): number {
  const rest = remainder(a, b);
  return rest !== 0 && (rest < 0) !== (b < 0) ? rest + b : rest;
}

function moduloBig(a: bigint, b: bigint): bigint {
  const rest = remainderBig(a, b);
  return rest !== 0n && (rest < 0n) !== (b < 0n) ? rest + b : rest;
}

/** Remainder of floats with the sign of the divisor, which is what is left where the dividend is smaller. */
function floatModulo(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return b < 0 ? -0 : 0;
  return (rest < 0) !== (b < 0) ? rest + b : rest;
}

/** Before version 28 of the operator set, floats need attribute fmod. */
const Mod: PlainOperator = {
  since: [10, 13, 28],
  types: NUMBERS,
  run: (inputs, attributes, { opset }) => {
    const [a, b] = [input(inputs, 0, "A"), input(inputs, 1, "B")];
    const isFloat = a.type === "float32";
    if (flag(attributes, "fmod")) {
      const f: Numbers = isFloat ? (x, y) => x % y : remainder;
      return [mapped2(a, b, a.type, f, remainderBig)];
    }
    if (opset < 28) input(inputs, 0, "A", INTEGERS);
    const f = isFloat ? floatModulo : modulo;
    return [mapped2(a, b, a.type, f, moduloBig)];
  },
};

/** A power of integers; of a negative exponent what is left of the fraction. */
function powerBig(base: bigint, exponent: bigint): bigint {
  if (exponent >= 0n) {
    // Modulo 2^64 all the way: a power with all its digits might not fit into memory.
    let power = 1n;
    let square = base;
    for (let left = exponent; left > 0n; left >>= 1n) {
      if (left & 1n) power = BigInt.asIntN(64, power * square);
      square = BigInt.asIntN(64, square * square);
    }
    return power;
  }
  if (base === 0n) throw new RangeError("a negative power of the integer 0");
  if (base === 1n) return 1n;
  return base === -1n ? (exponent % 2n === 0n ? 1n : -1n) : 0n;
}

/** The base decides what the result is; powers of integers to integers are exact. */
const Pow: PlainOperator = {
  since: [1, 7, 12, 13, 15],
  types: [...FLOATS, ...INDICES],
  run: (inputs, attributes, { opset }) => {
    const [base, exponent] = pair(inputs, attributes, opset);
    const isExact = base.type !== "float32" && exponent.type !== "float32";
    if (isExact) {
      const [x, y] = [base, exponent].map((given) => converted(given, "int64"));
      return [converted(mapped2(x, y, "int64", Number, powerBig), base.type)];
    }
    const dims = broadcastDims(base.dims, exponent.dims);
    const result = outputOf(base.type, dims);
    const to: PlainArrays[PlainType] = result.data;
    const left = broadcastTo(base, dims).data;
    const right = broadcastTo(exponent, dims).data;
    for (let i = 0; i < to.length; i++) {
      const value = power(Number(left[i]), Number(right[i]));
      to[i] = isBig(to) ? bigOf(value, base.type) : value;
    }
    return [result];
  },
};

/** Bits moved to either side; of integers with a sign, the sign fills up what is moved to the right. */
const BitShift: PlainOperator = {
  since: [11, 28],
  types: INTEGERS,
  limits: "integers with a sign in any version",
  run: (inputs, attributes) => {
    const [x, y] = [input(inputs, 0, "X"), input(inputs, 1, "Y")];
    const isRight =
      choice(attributes, "direction", ["RIGHT", "LEFT"]) === "RIGHT";
    const width = 8 * bytesOfType(x.type);
    return [mapped2(
      x,
      y,
      x.type,
      (a, bits) => {
        // By as many bits as there are, or a negative number, leaves the sign.
        if (bits < 0 || bits >= width) return isRight && a < 0 ? -1 : 0;
        return isRight ? Math.floor(a / 2 ** bits) : a << bits;
      },
      (a, bits) => {
        if (bits < 0n || bits > 63n) return isRight && a < 0n ? -1n : 0n;
        return isRight ? a >> bits : a << bits;
      },
    )];
  },
};

const PRelu: PlainOperator = {
  since: [1, 6, 7, 9, 16],
  types: [...FLOATS, ...INDICES, "uint32", "uint64"],
  run: (inputs, _, { opset }) => {
    const x = input(inputs, 0, "X");
    const given = input(inputs, 1, "slope");
    // Before version 7 there is a slope for every channel, or one for all.
    const slope = opset < 7 && given.data.length > 1
      ? withDims(given, [
        given.data.length,
        ...new Array<number>(Math.max(0, x.dims.length - 2)).fill(1),
      ])
      : given;
    return [mapped2(
      x,
      broadcastTo(slope, x.dims),
      x.type,
      (a, by) => a < 0 ? a * by : a,
      (a, by) => a < 0n ? a * by : a,
    )];
  },
};

const SwiGLU: PlainOperator = {
  since: [28],
  types: FLOATS,
  run: (inputs, attributes) => {
    const alpha = float(attributes, "alpha", 1);
    const [a, b] = [input(inputs, 0, "A"), input(inputs, 1, "B")];
    // The gate is a result of its own (Swish), rounded to f32.
    return [mapped2(
      a,
      b,
      a.type,
      (gate, value) => Math.fround(gate * sigmoid(alpha * gate)) * value,
      (gate) => gate,
    )];
  },
};

const sums = [1, 6, 7, 13, 14];
const bitwise = [18];

export const BINARY: Readonly<Record<string, PlainOperator>> = {
  Add: arithmetic({
    since: sums,
    float: (a, b) => a + b,
    big: (a, b) => a + b,
  }),
  Sub: arithmetic({
    since: sums,
    float: (a, b) => a - b,
    big: (a, b) => a - b,
  }),
  Mul: arithmetic({
    since: sums,
    float: (a, b) => a * b,
    integer: Math.imul,
    big: (a, b) => a * b,
  }),
  Div: arithmetic({
    since: sums,
    float: (a, b) => a / b,
    integer: divided,
    big: dividedBig,
  }),
  Mod,
  Pow,
  PRelu,
  SwiGLU,
  And: comparison([1, 7], BOOLS, (a, b) => a !== 0 && b !== 0, () => false),
  Or: comparison([1, 7], BOOLS, (a, b) => a !== 0 || b !== 0, () => false),
  Xor: comparison(
    [1, 7],
    BOOLS,
    (a, b) => (a !== 0) !== (b !== 0),
    () => false,
  ),
  Equal: comparison(
    [1, 7, 11, 13, 19],
    [...NUMBERS, ...BOOLS],
    (a, b) => a === b,
    (a, b) => a === b,
  ),
  Greater: comparison(
    [1, 7, 9, 13],
    NUMBERS,
    (a, b) => a > b,
    (a, b) => a > b,
  ),
  GreaterOrEqual: comparison(
    [12, 16],
    NUMBERS,
    (a, b) => a >= b,
    (a, b) => a >= b,
  ),
  Less: comparison([1, 7, 9, 13], NUMBERS, (a, b) => a < b, (a, b) => a < b),
  LessOrEqual: comparison(
    [12, 16],
    NUMBERS,
    (a, b) => a <= b,
    (a, b) => a <= b,
  ),
  BitShift,
  BitwiseAnd: arithmetic({
    since: bitwise,
    types: INTEGERS,
    float: (a, b) => a & b,
    big: (a, b) => a & b,
  }),
  BitwiseOr: arithmetic({
    since: bitwise,
    types: INTEGERS,
    float: (a, b) => a | b,
    big: (a, b) => a | b,
  }),
  BitwiseXor: arithmetic({
    since: bitwise,
    types: INTEGERS,
    float: (a, b) => a ^ b,
    big: (a, b) => a ^ b,
  }),
};
