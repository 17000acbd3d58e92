/** Functions of one real number that operators share; in f64. */

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
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

export function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** GELU by the error function. */
export function gelu(x: number): number {
  return 0.5 * x * (1 + erf(x / Math.SQRT2));
}

/** GELU by the hyperbolic tangent that comes close to it. */
export function geluTanh(x: number): number {
  const inner = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
  return 0.5 * x * (1 + Math.tanh(inner));
}

/** A power as IEEE 754 has it: of 1 to anything, and of -1 to an infinity, it is 1, where JavaScript has NaN. */
export function power(x: number, exponent: number): number {
  const isOne = x === 1 || x === -1 && Math.abs(exponent) === Infinity;
  return isOne ? 1 : x ** exponent;
}

/** To the nearest whole number, of two the even one. */
export function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  const over = x - below;
  if (over !== 0.5) return over < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
