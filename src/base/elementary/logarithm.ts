/**
 * Logarithms in f64, to some units of the last place, the same bits in every JavaScript engine (see `exponential.ts`).
 * Source: Cody and Waite, "Software Manual for the Elementary Functions" (1980), chapter 5: of x = 2^k m the logarithm
 * is k log 2 + log m, and log m is twice the series of the inverse hyperbolic tangent of (m - 1) / (m + 1).
 */
import { LOG_2 } from "./exponential.ts";
import { exponentOf, powerOfTwo } from "./powers_of_two.ts";

/** x = 2^k m, m from 0.7 to 1.42. */
export interface Split {
  readonly k: number;
  readonly m: number;
}

/** @param x above 0, and finite */
export function split(x: number): Split {
  const exponent = exponentOf(x);
  // 2^-k is not there for the least of the subnormal numbers.
  const half = exponent >> 1;
  const m = x * powerOfTwo(-half) * powerOfTwo(half - exponent);
  return m > Math.SQRT2 ? { k: exponent + 1, m: m / 2 } : { k: exponent, m };
}

/** 2 atanh(s) - 2 s for z = s^2, over s: the series from s^3 to s^21. */
export function behindFirst(z: number): number {
  const z2 = z * z;
  const even = 2 / 3 + z2 * (2 / 7 + z2 * (2 / 11 + z2 * (2 / 15 +
                z2 * (2 / 19))));
  const odd = 2 / 5 + z2 * (2 / 9 + z2 * (2 / 13 + z2 * (2 / 17 +
                z2 * (2 / 21))));
  return z * (even + z * odd);
}

/** The natural logarithm. */
export function log(x: number): number {
  if (!(x > 0)) return x === 0 ? -Infinity : NaN;
  if (x === Infinity) return x;
  const { k, m } = split(x);
  const f = m - 1;
  const s = f / (2 + f);
  const half = f * f / 2;
  // log m is f - f^2/2 + s (f^2/2 + what is behind the first): small parts first.
  const rest = s * (half + behindFirst(s * s));
  return k * LOG_2[0] - (half - (rest + k * LOG_2[1]) - f);
}

/** log(1 + x), exact to the last places near 0 as well. */
export function log1p(x: number): number {
  const whole = 1 + x;
  if (whole === 1) return x;
  if (!(x > -1 && x < Infinity)) return log(whole);
  // What was rounded off `whole` changes both alike (Kahan; Higham, "Accuracy and Stability", section 1.14.1).
  return log(whole) * (x / (whole - 1));
}

/** The logarithm to base 2: of a power of two its exponent. */
export function log2(x: number): number {
  if (!(x > 0 && x < Infinity)) return log(x);
  const { k, m } = split(x);
  return k + log(m) * Math.LOG2E;
}

/** The logarithm to base 10. */
export function log10(x: number): number {
  return log(x) * Math.LOG10E;
}
