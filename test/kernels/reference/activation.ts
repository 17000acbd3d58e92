import type { Activation } from "../../../src/kernels/module/activations.ts";

/** max(x, 0). */
export function relu(x: number): number {
  return x > 0 ? x : 0;
}

/** 1 / (1 + e^-x) without overflow in between. */
export function sigmoid(x: number): number {
  const z = Math.exp(-Math.abs(x));
  return (x < 0 ? z : 1) / (1 + z);
}

/** erf by its Taylor series below 3, by the continued fraction of erfc above. */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (Number.isNaN(x)) return NaN;
  if (a > 6) return Math.sign(x);
  if (a > 3) {
    let fraction = a;
    for (let n = 60; n > 0; --n) fraction = a + n / 2 / fraction;
    return Math.sign(x) *
      (1 - Math.exp(-a * a) / fraction / Math.sqrt(Math.PI));
  }
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

/** x (1 + erf(x / sqrt 2)) / 2. */
export function gelu(x: number): number {
  return x * (1 + erf(x * Math.SQRT1_2)) / 2;
}

/** The tanh approximation of gelu. */
export function geluTanh(x: number): number {
  return x * sigmoid(2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3));
}

/** x sigmoid(x). */
export function silu(x: number): number {
  return x * sigmoid(x);
}

/** An activation by name. */
export function activate(act: Activation, x: number): number {
  switch (act) {
    case "none":
      return x;
    case "relu":
      return relu(x);
    case "sigmoid":
      return sigmoid(x);
    case "tanh":
      return Math.tanh(x);
    case "gelu":
      return gelu(x);
    case "geluTanh":
      return geluTanh(x);
    case "silu":
      return silu(x);
    default:
      return act satisfies never;
  }
}

/** sqrt(a^2 + b^2), each step rounded to f32. */
export function magnitude(a: number, b: number): number {
  const round = Math.fround;
  return round(Math.sqrt(round(round(a * a) + round(b * b))));
}
