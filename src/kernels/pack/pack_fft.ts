/** Tables of sines for `rfft_f32` and `irfft_f32`, in the order in which the passes read them. */

import { cos, sin } from "../../base/elementary/trigonometric.ts";
import { FFT_LENGTHS, isFftLength } from "../../base/fft_lengths.ts";

/** Lengths of the passes of radix 4 behind the first, over n / 2 complex numbers. */
function furtherLengths(n: number): number[] {
  const lengths: number[] = [];
  for (let length = n / 8; length >= 4; length /= 4) lengths.push(length);
  return lengths;
}

/** Floats of `packFft(n)`. */
export function packedFftFloats(n: number): number {
  return furtherLengths(n).reduce(
    (sum, length) => sum + 6 * (length / 4 - 1),
    5 * n / 4,
  );
}

/**
 * The factors of a transform of n real numbers: `w` of `rfft_f32` and `irfft_f32`. Computed in f64 from angles up to
 * an eighth of a turn, and rounded once: whole quarters of a turn are exact.
 * @param n a power of two from 32 to 65536
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { packFft } from "@shoal/core/kernels";
 *
 * // cos and -sin of a turn's 64th, halved.
 * const w = packFft(64);
 * assert.equal(w[0], Math.fround(Math.cos(Math.PI / 32) / 2));
 * assert.equal(w[4], Math.fround(-Math.sin(Math.PI / 32) / 2));
 * ```
 */
export function packFft(n: number): Float32Array {
  if (!isFftLength(n)) {
    throw new RangeError(
      `packFft: ${n} is not a power of two from ${FFT_LENGTHS.least} to ${FFT_LENGTHS.most}`,
    );
  }
  const w = new Float32Array(packedFftFloats(n));
  let at = 0;
  const put = (value: number) => w[at++] = value;
  // Half of e^(-2 pi i k / n), which parts two transforms of one.
  for (let k = 1; k < n / 4; k += 4) {
    const factors = [0, 1, 2, 3].map((lane) => turned(k + lane, n));
    for (const [cos] of factors) put(cos / 2);
    for (const [, sin] of factors) put(sin / 2);
  }
  const half = n / 2;
  for (let p = 0; p < half / 4; p += 4) {
    for (const power of [1, 2, 3]) {
      const factors = [0, 1, 2, 3].map((lane) =>
        turned(power * (p + lane), half)
      );
      for (const [cos] of factors) put(cos);
      for (const [, sin] of factors) put(sin);
    }
  }
  for (const length of furtherLengths(n)) {
    for (let p = 1; p < length / 4; p++) {
      for (const power of [1, 2, 3]) turned(power * p, length).forEach(put);
    }
  }
  return w;
}

/** Real and imaginary part of e^(-2 pi i k / n), n a multiple of 4. */
function turned(k: number, n: number): readonly [number, number] {
  const quarters = Math.round(4 * k / n);
  const angle = 2 * Math.PI * (k - quarters * n / 4) / n;
  const [x, y] = [cos(angle), -sin(angle)];
  switch (quarters % 4) {
    case 0:
      return [x, y];
    case 1:
      return [y, -x];
    case 2:
      return [-x, -y];
    default:
      return [-y, x];
  }
}
