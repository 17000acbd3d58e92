/** Functions of one real number that operators share; in f64. */
import { exp } from "../base/elementary/exponential.ts";
import { tanh } from "../base/elementary/hyperbolic.ts";
import { log1p } from "../base/elementary/logarithm.ts";

/**
 * The error function, by its series with positive terms only (Abramowitz & Stegun 7.1.6):
 * erf x = 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!. To some units of the last place of f64.
 */
export function erf(x: number): number {
  // 1 - erf 6 is 2e-17: rounded away.
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * exp(-x * x) * sum;
}

export function sigmoid(x: number): number {
  return 1 / (1 + exp(-x));
}

export function softplus(x: number): number {
  return Math.max(x, 0) + log1p(exp(-Math.abs(x)));
}

/** GELU by the error function. */
export function gelu(x: number): number {
  return 0.5 * x * (1 + erf(x / Math.SQRT2));
}

/** GELU by the hyperbolic tangent that comes close to it. */
export function geluTanh(x: number): number {
  const inner = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + tanh(inner));
}

/** To the nearest whole number, of two the even one. */
export function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  const over = x - below;
  if (over !== 0.5) return over < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
