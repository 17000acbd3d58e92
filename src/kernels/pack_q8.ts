/** Quantisation and packing of int8 weights; formats in assembly/q8_epilogue.ts. */
import { checkLength, checkSize, type GemmSize } from "./pack.ts";
import { PANEL_COLUMNS, panelsFor } from "./panels.ts";

const HEADER_WORDS = 32;
const STEP = 4;

/** Weights already quantised: w = (v - zero) * scale. */
export interface PackQ8Options extends GemmSize {
  /** [n][k], -128..127. */
  values: Int8Array;
  /** [n]. */
  scale: Float32Array;
  /** [n]; zeros if absent. */
  zero?: Int32Array;
  /** [n], added in f32 after the sums are scaled; zeros if absent. */
  bias?: Float32Array;
}

/** 4-byte words of packed int8 weights. */
export function packedQ8Words({ n, k }: GemmSize): number {
  return panelsFor(n) * (HEADER_WORDS + PANEL_COLUMNS * Math.ceil(k / STEP));
}

/** Packs for `gemm_q8_f32`, `gemm_q8_i32` and `gemm_q8_u8`; the array's bytes go to memory as they are. */
export function packQ8(options: PackQ8Options): Int32Array {
  const { n, k, values, scale, zero, bias } = options;
  checkSize("n", n, 1);
  checkSize("k", k, 1);
  if (values.length !== n * k) {
    throw new RangeError(
      `Cannot pack weights: values must have ${
        n * k
      } elements, has ${values.length}`,
    );
  }
  checkLength("scale", scale, n);
  if (bias !== undefined) checkLength("bias", bias, n);
  const words = new Int32Array(packedQ8Words({ n, k }));
  const floats = new Float32Array(words.buffer);
  const bytes = new Int8Array(words.buffer);
  const panelWords = words.length / panelsFor(n);
  for (let j = 0; j < n; ++j) {
    const header = Math.floor(j / PANEL_COLUMNS) * panelWords;
    const lane = j % PANEL_COLUMNS;
    let sum = 0;
    for (let i = 0; i < k; ++i) {
      const value = values[j * k + i]!;
      sum += value;
      const group = header + HEADER_WORDS +
        Math.floor(i / STEP) * PANEL_COLUMNS;
      bytes[4 * (group + lane) + i % STEP] = value;
    }
    words[header + lane] = sum - k * (zero?.[j] ?? 0);
    words[header + 8 + lane] = zero?.[j] ?? 0;
    floats[header + 16 + lane] = scale[j]!;
    floats[header + 24 + lane] = bias?.[j] ?? 0;
  }
  return words;
}

/**
 * Symmetric quantisation of [n][k] weights per output channel: scale = max |w| / 127, values
 * -127..127, rounded to the nearest.
 */
export function quantizeWeights(
  { n, k, weight }: GemmSize & { weight: Float32Array },
): { values: Int8Array; scale: Float32Array } {
  checkLength("weight", weight, n * k);
  const values = new Int8Array(n * k);
  const scale = new Float32Array(n);
  for (let j = 0; j < n; ++j) {
    const row = weight.subarray(j * k, (j + 1) * k);
    const greatest = row.reduce((max, w) => Math.max(max, Math.abs(w)), 0);
    scale[j] = greatest === 0 ? 1 : greatest / 127;
    row.forEach((w, i) =>
      values[j * k + i] = Math.max(
        -127,
        Math.min(127, Math.round(w / scale[j]!)),
      )
    );
  }
  return { values, scale };
}
