import { log2 } from "./elementary/logarithm.ts";

/** Lengths of real rows that there are fast Fourier transforms of: powers of two within these. */
export const FFT_LENGTHS = { least: 32, most: 65_536 } as const;

/** Whether there is one for a length. */
export function isFftLength(n: number): boolean {
  return n >= FFT_LENGTHS.least && n <= FFT_LENGTHS.most &&
    Number.isInteger(log2(n));
}
