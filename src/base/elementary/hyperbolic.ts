/**
 * Hyperbolic functions and their inverses in f64, to some units of the last place, the same bits in every JavaScript
 * engine (see `exponential.ts`), by their definitions with e^x - 1 and log(1 + x), which keep small numbers exact.
 */
import { exp, expm1 } from "./exponential.ts";
import { log, log1p } from "./logarithm.ts";

/** From here on 1 is less than half of the last place of e^(2 x), or of x^2. */
const [LARGE, LARGE_SQUARE] = [22, 2 ** 28];

const signed = (x: number, size: number) => x < 0 ? -size : size;

/** The hyperbolic sine. */
export function sinh(x: number): number {
  const size = Math.abs(x);
  if (size > LARGE) return signed(x, halfOfExp(size));
  const y = expm1(size);
  return x === 0 ? x : signed(x, (y + y / (y + 1)) / 2);
}

/** The hyperbolic cosine. */
export function cosh(x: number): number {
  const size = Math.abs(x);
  if (size > LARGE) return halfOfExp(size);
  const y = exp(size);
  return (y + 1 / y) / 2;
}

/** e^x / 2, also where e^x is beyond f64. */
function halfOfExp(x: number): number {
  const root = exp(x / 2);
  return root / 2 * root;
}

/** The hyperbolic tangent. */
export function tanh(x: number): number {
  const size = Math.abs(x);
  if (size > LARGE) return signed(x, 1);
  const y = expm1(2 * size);
  return x === 0 ? x : signed(x, y / (y + 2));
}

/** The inverse hyperbolic sine. */
export function asinh(x: number): number {
  const size = Math.abs(x);
  if (size > LARGE_SQUARE) return signed(x, log(size) + Math.LN2);
  const square = size * size;
  const y = log1p(size + square / (1 + Math.sqrt(1 + square)));
  return x === 0 ? x : signed(x, y);
}

/** The inverse hyperbolic cosine; NaN below 1. */
export function acosh(x: number): number {
  if (x < 1) return NaN;
  if (x > LARGE_SQUARE) return log(x) + Math.LN2;
  const over = x - 1;
  return log1p(over + Math.sqrt(2 * over + over * over));
}

/** The inverse hyperbolic tangent; NaN beyond 1. */
export function atanh(x: number): number {
  const size = Math.abs(x);
  const y = log1p(2 * size / (1 - size)) / 2;
  return x === 0 ? x : signed(x, y);
}
