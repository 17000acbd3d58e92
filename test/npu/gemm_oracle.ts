import { Prng } from "../../src/base/prng.ts";
import type { Gemm } from "../../src/npu/dataflow.ts";
import type {
  ArrayDtype,
  Operands,
} from "../../src/npu/register/register_array.ts";

/**
 * ofmap = ifmap * filter the plain way. The k axis is added up in groups of `foldK` and the groups
 * in order, as an array of that many rows does it; f32 rounds after each product and each addition.
 */
export function gemmInRowFolds(
  { m, n, k }: Gemm,
  { ifmap, filter }: Operands,
  foldK: number,
): Float32Array | Int32Array {
  const isFloat = ifmap instanceof Float32Array;
  const out = isFloat ? new Float32Array(m * n) : new Int32Array(m * n);
  const rounded = isFloat ? Math.fround : (value: number) => value | 0;
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      for (let from = 0; from < k; from += foldK) {
        let sum = 0;
        for (let x = from; x < Math.min(k, from + foldK); x++) {
          sum = rounded(sum + rounded(ifmap[i * k + x] * filter[x * n + j]));
        }
        out[i * n + j] = from === 0 ? sum : rounded(out[i * n + j] + sum);
      }
    }
  }
  return out;
}

/** Operands of random bits: any f32 of moderate size, any int8. */
export function randomOperands(
  { m, n, k }: Gemm,
  dtype: ArrayDtype,
  seed: number,
): Operands {
  const prng = new Prng(seed);
  const fill = (length: number) =>
    dtype === "f32"
      ? Float32Array.from({ length }, () => prng.float() * 16 - 8)
      : Int8Array.from({ length }, () => prng.int(256) - 128);
  return { ifmap: fill(m * k), filter: fill(k * n) };
}
