import { packFft } from "../../../src/kernels/pack/pack_fft.ts";
import { transposed } from "../equivalent.ts";
import {
  type CaseDraw,
  type CaseFamily,
  caseFamily,
  drawRows,
  rowOf,
} from "../kernel_case.ts";
import { irfft, rfft } from "../reference/fft.ts";

/** Size of a transform. */
export interface FftSize {
  n: number;
}

/** Every number of passes; long rows in small batches, since the reference takes n^2. */
function drawSize({ prng, rows }: CaseDraw): FftSize {
  const powers = rows < 5 ? 8 : 5;
  return { n: 2 ** (5 + prng.int(powers)) };
}

const LARGEST = 4;

/** Transforms of real rows, and back. */
export function fftCase(name: "rfft_f32" | "irfft_f32"): CaseFamily<FftSize> {
  return caseFamily<FftSize>(drawSize, (draw, { n }) => {
    const { rows } = draw;
    const isForward = name === "rfft_f32";
    const [from, to] = isForward ? [n, n + 2] : [n + 2, n];
    const a = drawRows(draw, from);
    const reference = isForward ? rfft : irfft;
    const passes = Math.log2(n);
    return {
      label: `m=${rows} n=${n}`,
      rows,
      inputs: { a },
      blocks: { w: packFft(n) },
      scratch: { scratch: 8 * n },
      results: { out: { width: to, type: "f32" } },
      call: (kernels, at, m) =>
        kernels[name](m, n, at.a, at.w, at.out, at.scratch),
      expected: () => ({
        out: Array.from(
          { length: rows },
          (_, i) => [...reference(rowOf(a, i))],
        ).flat(),
      }),
      // An error of half an ulp a pass, of sums of n numbers that may all be the largest.
      tolerance: LARGEST * passes * 2 ** -24 * (isForward ? Math.sqrt(n) : 1),
      // As transforms are usually counted, however many operations are left.
      work: { count: 2.5 * rows * n * passes, unit: "GFLOP/s" },
      ...(isForward && {
        equivalent: () => ({
          nodes: [{
            opType: "DFT",
            inputs: ["a"],
            outputs: ["y"],
            attributes: { onesided: 1 },
          }],
          constants: [],
          inputs: [{
            name: "a",
            shape: [rows, n, 1],
            data: a.data as Float32Array,
          }],
          outputs: [{
            name: "y",
            shape: [rows, n / 2 + 1, 2],
            of: (own) =>
              transposed(
                new Float32Array(own("out").slice().buffer),
                2,
                n / 2 + 1,
              ),
          }],
          tolerance: 1e-4,
        }),
      }),
    };
  });
}
