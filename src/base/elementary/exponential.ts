/**
 * e^x and e^x - 1 in f64, to some units of the last place, the same bits in every JavaScript engine: sums, products and
 * quotients are fixed by IEEE 754, while `Math.exp` and its like are each engine's own (ECMA-262, section 21.3.2,
 * "implementation-approximated") and differ between versions of one.
 * Source: Cody and Waite, "Software Manual for the Elementary Functions" (1980), chapter 6: e^x is 2^k e^r, of the whole
 * number k of log 2 that is next to x. Here the series of e^r is taken.
 */
import { powerOfTwo, scaled } from "./powers_of_two.ts";

/** log 2 in two parts, of which the first has 33 bits, so that its products by exponents are exact. */
export const LOG_2 = [0.6931471804855391, 7.440617110012397e-11] as const;
const [LOG_2_HIGH, LOG_2_LOW] = LOG_2;

/** Beyond these e^x is Infinity, and 0. */
const [MOST, LEAST] = [709.782712893384, -745.1332191019412];

/** e^(high - low) - 1, up to half of log 2 away from 0: its series to r^13. */
function near(high: number, low: number): number {
  const r = high - low;
  const r2 = r * r;
  const even = 1 / 2 + r2 * (1 / 24 + r2 * (1 / 720 +
            r2 * (1 / 40320 + r2 * (1 / 3628800 + r2 * (1 / 479001600)))));
  const odd = 1 / 6 + r2 * (1 / 120 + r2 * (1 / 5040 +
            r2 * (1 / 362880 + r2 * (1 / 39916800 + r2 * (1 / 6227020800)))));
  return high + (r2 * (even + r * odd) - low);
}

/** The whole number whose product by log 2 is next to x. */
const exponentNear = (x: number) => Math.floor(x * Math.LOG2E + 0.5);

/** e^x. */
export function exp(x: number): number {
  if (!(x <= MOST)) return x > MOST ? Infinity : NaN;
  if (x < LEAST) return 0;
  const k = exponentNear(x);
  const y = 1 + near(x - k * LOG_2_HIGH, k * LOG_2_LOW);
  return -1022 < k && k < 1024 ? y * powerOfTwo(k) : scaled(y, k);
}

/** e^x - 1, exact to the last places near 0 as well. */
export function expm1(x: number): number {
  const k = exponentNear(x);
  if (!(Math.abs(k) < 54)) return x < 0 ? -1 : exp(x);
  const y = near(x - k * LOG_2_HIGH, k * LOG_2_LOW);
  if (k === 0) return x === 0 ? x : y;
  return powerOfTwo(k) * y + (powerOfTwo(k) - 1);
}
