/**
 * Powers in f64, the same bits in every JavaScript engine (see `exponential.ts`). Whole exponents up to 64 and square
 * roots are exact wherever f64 has the power, and else to the last place; others to some units of it.
 */
import { exp, LOG_2 } from "./exponential.ts";
import { behindFirst, split } from "./logarithm.ts";
import { scaled } from "./powers_of_two.ts";

/** Largest whole exponent that is multiplied out. */
const WHOLE_MAX = 64;

/** From here on a power is 0, 1 or infinite: no logarithm but that of 1 is less than 2^-53. */
const LARGE = 2 ** 70;

/** Beyond what e^x has f64 for. */
const OUT_OF_REACH = 800;

/** Dekker's splitting: the upper half of the significant bits. */
function upperHalf(x: number): number {
  const y = 134_217_729 * x;
  return y - (y - x);
}

/** What a b is more than f64 has of it, `high` (Dekker, Numerische Mathematik 18, 1971). */
function lost(a: number, b: number, high: number): number {
  const [a1, b1] = [upperHalf(a), upperHalf(b)];
  const [a2, b2] = [a - a1, b - b1];
  return a1 * b1 - high + a1 * b2 + a2 * b1 + a2 * b2;
}

/** x^n in twice the precision of f64. @param n whole, up to WHOLE_MAX, below 0 for the inverse */
function multipliedOut(x: number, n: number): number {
  const { k, m } = split(x);
  let [high, low] = [1, 0];
  let [square, square2] = [m, 0];
  for (let left = Math.abs(n); left > 0; left >>= 1) {
    if (left & 1) {
      const y = high * square;
      const y2 = lost(high, square, y) + (high * square2 + low * square);
      high = y + y2;
      low = y - high + y2;
    }
    const y = square * square;
    const y2 = lost(square, square, y) + 2 * square * square2;
    square = y + y2;
    square2 = y - square + y2;
  }
  if (n > 0) return scaled(high + low, k * n);
  const inverse = 1 / high;
  const one = inverse * high;
  const over = 1 - one - lost(inverse, high, one) - inverse * low;
  return scaled(inverse + inverse * over, k * n);
}

/** x to the exponent by its logarithm, which is here in two parts. @param x above 0, and finite */
function byLogarithm(x: number, exponent: number): number {
  const { k, m } = split(x);
  const f = m - 1;
  const d = 2 + f;
  const s = f / d;
  const back = s * d;
  const left = (f - back - lost(s, d, back) - s * (f - (d - 2))) / d;
  const whole = k * LOG_2[0];
  const near = whole + 2 * s;
  // k log 2 is larger than the rest wherever it is not 0.
  const small = (k === 0 ? 0 : whole - near + 2 * s) +
    (2 * left + s * behindFirst(s * s) + k * LOG_2[1]);
  const high = near + small;
  const low = near - high + small;
  const most = exponent * high;
  if (Math.abs(most) > OUT_OF_REACH) return most > 0 ? Infinity : 0;
  const rest = lost(exponent, high, most) + exponent * low;
  return exp(most) * (1 + rest);
}

/** @param x above 0, and finite @param exponent finite, not 0 */
function ofPositive(x: number, exponent: number): number {
  // Both are rounded once.
  if (exponent === 2) return x * x;
  if (exponent === 0.5) return Math.sqrt(x);
  const size = Math.abs(exponent);
  if (size <= WHOLE_MAX && Number.isInteger(size)) {
    return multipliedOut(x, exponent);
  }
  if (size < LARGE) return byLogarithm(x, exponent);
  return x === 1 ? 1 : x > 1 === exponent > 0 ? Infinity : 0;
}

/** A power as IEEE 754 has it: of 1 to anything, and of -1 to an infinity, it is 1, where JavaScript has NaN. */
export function power(x: number, exponent: number): number {
  if (x === 1 || x === -1 && Math.abs(exponent) === Infinity) return 1;
  // ECMA-262 leaves nothing open here.
  const isGiven = x === 0 || exponent === 0 ||
    !(Math.abs(x) < Infinity && Math.abs(exponent) < Infinity);
  if (isGiven) return x ** exponent;
  if (x > 0) return ofPositive(x, exponent);
  if (!Number.isInteger(exponent)) return NaN;
  const size = ofPositive(-x, exponent);
  return exponent % 2 === 0 ? size : -size;
}
