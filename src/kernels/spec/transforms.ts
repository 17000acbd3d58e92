/** Fourier transforms of rows. */
import { log2 } from "../../base/elementary/logarithm.ts";
import { FFT_LENGTHS, isFftLength } from "../../base/fft_lengths.ts";
import { packedFftFloats } from "../pack/pack_fft.ts";
import {
  byRows,
  type CutKernel,
  type FamilySpecs,
  FLOPS_PER_NS,
} from "./kernel_spec.ts";
import {
  array,
  type Count,
  m,
  packed,
  rowsIn,
  rowsOut,
  size,
} from "./signature.ts";

/** Real and imaginary parts of n / 2 + 1 frequencies. */
const frequencies: Count = ({ n }) => n + 2;

/** Rows of n real numbers to their frequencies, or back. */
const transform = (from: Count, to: Count): CutKernel => ({
  parameters: [
    m,
    size("n", FFT_LENGTHS.least, { most: FFT_LENGTHS.most }),
    rowsIn("aRows", from),
    packed(({ n }) => isFftLength(n) ? packedFftFloats(n) : 0, "packFft()"),
    rowsOut("outRows", to),
    array("scratch", ["n", 2], { access: "scratch", alignment: 16 }),
  ],
  relation: ({ n }) =>
    isFftLength(n) ? undefined : `n is ${n}, which is no power of two`,
  cuts: [byRows()],
  nanoseconds: ({ m, n }) => 5 * m * n * log2(n) / FLOPS_PER_NS,
  practice: { n: 64 },
});

export const TRANSFORMS = {
  rfft_f32: transform("n", frequencies),
  irfft_f32: transform(frequencies, "n"),
} satisfies FamilySpecs;
