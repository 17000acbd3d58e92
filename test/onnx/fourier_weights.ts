/** Weights of a convolution that is a Fourier transform, as torch's users write them. */
import {
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";

/** @returns [n + 2][1][n]: cosines of frequencies 0 .. n / 2, then sines turned back, times a window */
export function fourierWeights(
  factors: Float32Array,
): PlainTensor<"float32"> {
  const n = factors.length;
  const rows = n / 2 + 1;
  const data = new Float32Array(2 * rows * n);
  for (let k = 0; k < rows; k++) {
    for (let j = 0; j < n; j++) {
      const angle = 2 * Math.PI * k * j / n;
      data[k * n + j] = factors[j] * Math.fround(Math.cos(angle));
      data[(rows + k) * n + j] = factors[j] * Math.fround(-Math.sin(angle));
    }
  }
  return plainTensor("float32", [2 * rows, 1, n], data);
}
