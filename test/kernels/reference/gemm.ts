/** Naive GEMM: the definition, in double precision and in the kernels' own order of roundings. */
import type { Activation } from "../../../src/kernels/module/activations.ts";
import { activate } from "./activation.ts";

/** Operands of a naive GEMM, plain row-major. */
export interface NaiveGemm {
  m: number;
  n: number;
  k: number;
  /** [m][k] */
  a: ArrayLike<number>;
  /** [n][k] */
  weight: ArrayLike<number>;
  /** [n] */
  bias?: ArrayLike<number>;
}

/** act(bias + a * weight^T) in float64, [m][n]. */
export function gemm(
  { m, n, k, a, weight, bias }: NaiveGemm,
  act: Activation,
): Float64Array {
  const out = new Float64Array(m * n);
  for (let i = 0; i < m; ++i) {
    for (let j = 0; j < n; ++j) {
      let sum = bias?.[j] ?? 0;
      for (let l = 0; l < k; ++l) sum += a[i * k + l] * weight[j * k + l];
      out[i * n + j] = activate(act, sum);
    }
  }
  return out;
}

/**
 * The sums rounded to f32 after every product and every addition, from the bias on, k
 * ascending: exactly what the deterministic build computes, [m][n].
 */
export function gemmRounded(
  { m, n, k, a, weight, bias }: NaiveGemm,
): Float32Array {
  const out = new Float32Array(m * n);
  for (let i = 0; i < m; ++i) {
    for (let j = 0; j < n; ++j) {
      let sum = Math.fround(bias?.[j] ?? 0);
      for (let l = 0; l < k; ++l) {
        sum = Math.fround(sum + Math.fround(a[i * k + l] * weight[j * k + l]));
      }
      out[i * n + j] = sum;
    }
  }
  return out;
}
