/** Quantisation and packing of int8 weights; formats in assembly/q8_epilogue.ts. */
import { describe } from "../../base/describe.ts";
import { knownOptions } from "../../base/options.ts";
import { checkLength, checkSize, type GemmSize } from "./pack_gemm.ts";
import { PANEL_COLUMNS, panelsFor } from "./panels.ts";

const COLUMN_WORDS = 32;
const HEADER_WORDS = 40;
const STEP = 4;
/** Exceptions a panel has room for. */
const EXCEPTIONS = 16;
const NONE = 0xffff;
/** Four products with activations up to 127 fit 16 bits if the weights of either sign sum to no more. */
const SUM_MAX = 258;
const ACTIVATION_MAX = 255;
const SUM_LIMIT = 2 ** 31;
/** Products of a byte and a signed one whose sums fit 32 bits (assembly/checks.ts). */
export const Q8_K_MAX = Math.floor((SUM_LIMIT - 1) / (ACTIVATION_MAX * 128));

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
  return panelsFor(n) * packedQ8PanelWords(k);
}

/** 4-byte words of one panel: its header, and for every step, 4 numbers of k, a word of each column. */
function packedQ8PanelWords(k: number): number {
  return HEADER_WORDS + PANEL_COLUMNS * Math.ceil(k / STEP);
}

/**
 * Packs for `gemm_q8_f32`, `gemm_q8_i32` and `gemm_q8_u8`.
 * @returns their `w`; the array's bytes go to memory as they are
 * @throws {RangeError} if an array has not as many elements as it says, or sums over k may not fit 32 bits
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packQ8,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const [n, k] = [2, 3];
 * const w = host.block(packQ8({
 *   n,
 *   k,
 *   values: Int8Array.of(1, 2, 3, -1, 0, 1),
 *   scale: Float32Array.of(1, 0.5),
 * }));
 * const a = host.rows(1, k, Float32Array.of(3, 4, 5));
 * const q = host.rows(1, k, "q8");
 * host.call("quantize_static_rows_f32", { k, scale: 1, zero: 0, aRows: a, qRows: q });
 * const c = host.rows(1, n, "f32");
 * host.call("gemm_q8_f32", { n, k, seven: "yes", qRows: q, w, cRows: c });
 * assert.deepEqual([...host.read(c)], [26, 1]);
 * ```
 */
export function packQ8(options: PackQ8Options): Int32Array {
  knownOptions("packQ8", options, [
    ...["n", "k", "values", "scale", "zero", "bias"],
  ]);
  const { n, k, values, scale, zero, bias } = options;
  checkSize("n", n, 1);
  checkSize("k", k, 1);
  if (!(values instanceof Int8Array)) {
    throw new TypeError(
      `Cannot pack weights: values must be an Int8Array, is ${
        describe(values)
      }`,
    );
  }
  if (values.length !== n * k) {
    throw new RangeError(
      `Cannot pack weights: values must have ${
        n * k
      } elements, has ${values.length}`,
    );
  }
  checkLength("scale", scale, n);
  if (bias !== undefined) checkLength("bias", bias, n);
  checkSums(k, zero);
  const words = new Int32Array(packedQ8Words({ n, k }));
  const floats = new Float32Array(words.buffer);
  const bytes = new Int8Array(words.buffer);
  const panelWords = packedQ8PanelWords(k);
  for (let j = 0; j < n; ++j) {
    const header = Math.floor(j / PANEL_COLUMNS) * panelWords;
    const lane = j % PANEL_COLUMNS;
    let sum = 0;
    for (let i = 0; i < k; ++i) {
      const value = values[j * k + i];
      sum += value;
      const group = header + HEADER_WORDS +
        Math.floor(i / STEP) * PANEL_COLUMNS;
      bytes[4 * (group + lane) + i % STEP] = value;
    }
    words[header + lane] = sum - k * (zero?.[j] ?? 0);
    words[header + 8 + lane] = zero?.[j] ?? 0;
    floats[header + 16 + lane] = scale[j];
    floats[header + 24 + lane] = bias?.[j] ?? 0;
  }
  const lists = new Uint16Array(words.buffer);
  for (let panel = 0; panel < words.length; panel += panelWords) {
    listExceptions(
      bytes.subarray(4 * (panel + HEADER_WORDS), 4 * (panel + panelWords)),
      lists.subarray(
        2 * (panel + COLUMN_WORDS),
        2 * (panel + COLUMN_WORDS) + EXCEPTIONS,
      ),
    );
  }
  return words;
}

/** Sums of (q - rowZero) (v - zero) have to fit 32 bits, whatever q and v are. */
function checkSums(k: number, zero: Int32Array | undefined): void {
  const distance = Array.from(zero ?? [0]).reduce(
    (most, z) => Math.max(most, Math.abs(-128 - z), Math.abs(127 - z)),
    0,
  );
  const kMax = Math.floor((SUM_LIMIT - 1) / (ACTIVATION_MAX * distance));
  if (k > kMax) {
    throw new RangeError(
      `Cannot pack int8 weights: k = ${k} is more than ${kMax}, and sums may not fit 32 bits; ` +
        "split k and add the results",
    );
  }
}

/**
 * Lists the pairs of steps whose weights could overflow sums of 16 bits (assembly/q8_exceptions.ts):
 * rare where weights are distributed normally, nearly all where uniformly.
 */
function listExceptions(weights: Int8Array, list: Uint16Array): void {
  const pairBytes = 2 * PANEL_COLUMNS * STEP;
  let count = 0;
  list.fill(NONE);
  for (let at = 0; at + pairBytes <= weights.length; at += pairBytes) {
    if (count === EXCEPTIONS) return;
    if (mayOverflow(weights, at)) list[count++] = at / pairBytes;
  }
}

function mayOverflow(weights: Int8Array, pair: number): boolean {
  const stepBytes = PANEL_COLUMNS * STEP;
  for (let at = pair; at < pair + stepBytes; at += 2) {
    let [positive, negative] = [0, 0];
    for (const i of [at, at + 1, at + stepBytes, at + stepBytes + 1]) {
      const v = weights[i];
      if (v > 0) positive += v;
      else negative -= v;
    }
    if (Math.max(positive, negative) > SUM_MAX) return true;
  }
  return false;
}

/**
 * Symmetric quantisation of [n][k] weights per output channel: scale = max |w| / 127, values
 * -127..127, rounded to the nearest.
 * @returns `values` [n][k] and `scale` [n], as {@linkcode packQ8} takes them
 * @throws {RangeError} unless there are n x k weights
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { quantizeWeights } from "@shoal/core/kernels";
 *
 * const weight = Float32Array.of(127, -64, 0.5, -1);
 * const { values, scale } = quantizeWeights({ n: 2, k: 2, weight });
 * assert.deepEqual([...values], [127, -64, 64, -127]);
 * assert.deepEqual([...scale], [1, Math.fround(1 / 127)]);
 * ```
 */
export function quantizeWeights(
  options: GemmSize & { weight: Float32Array },
): { values: Int8Array; scale: Float32Array } {
  knownOptions("quantizeWeights", options, ["n", "k", "weight"]);
  const { n, k, weight } = options;
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
        Math.min(127, Math.round(w / scale[j])),
      )
    );
  }
  return { values, scale };
}
