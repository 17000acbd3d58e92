/** The window function in the weights of a convolution that is a Fourier transform. */
import { cos } from "../../base/elementary/trigonometric.ts";
import { isFftLength } from "../../base/fft_lengths.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** How far a weight may be from what it would be, in multiples of the largest: rounding, where training goes further. */
const ROUNDING = 1e-6;

/**
 * The window function f of weights f[j] cos(2 pi j k / n), of frequencies k from 0 to n / 2, and then as many
 * -f[j] sin(2 pi j k / n).
 * @param weight [n + 2][1][n]; n a length that there is a fast transform of
 * @returns undefined where the weights are not of this form
 */
export function windowFunction(
  { shape: [outputs, channels, ...sides], data }: Tensor,
): Float32Array | undefined {
  const n = sides.at(-1)!;
  const isSpectrum = isFftLength(n) && outputs === n + 2 && channels === 1 &&
    data.length === outputs * n;
  if (!isSpectrum) return undefined;
  const factors = (data as Float32Array).subarray(0, n);
  const limit = ROUNDING *
    factors.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const cosines = Float64Array.from(
    { length: n },
    (_, i) => cos(2 * Math.PI * i / n),
  );
  for (let k = 0; k <= n / 2; k++) {
    const [real, imaginary] = [k * n, (n / 2 + 1 + k) * n];
    for (let j = 0; j < n; j++) {
      const turn = j * k % n;
      const cos = factors[j] * cosines[turn];
      // -sin(a) is cos(a + a quarter of a turn).
      const sin = factors[j] * cosines[(turn + n / 4) % n];
      const isSuch = Math.abs(data[real + j] - cos) <= limit &&
        Math.abs(data[imaginary + j] - sin) <= limit;
      if (!isSuch) return undefined;
    }
  }
  return factors.slice();
}
