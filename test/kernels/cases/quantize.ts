import { ACTIVATIONS } from "../../../src/kernels/module/activations.ts";
import {
  type CaseDraw,
  caseFamily,
  drawFloats,
  drawNormal,
  drawRows,
  drawSize,
  drawWeights,
  type KernelCase,
  rowOf,
  type RowOperand,
} from "../kernel_case.ts";
import { floatsOf } from "../equivalent.ts";
import { packQ8, quantizeWeights } from "../../../src/kernels/pack/pack_q8.ts";
import {
  integerSum,
  type QuantizedRow,
  quantizedWords,
  quantizeDynamic,
  quantizeStatic,
} from "../reference/q8.ts";

/** Sizes of a quantisation; levels 127 or 255. */
export interface QuantizeCaseSize {
  k: number;
  levels: 127 | 255;
}

/** Rows to quantise, and how. */
function quantizationCase(
  { rows }: CaseDraw,
  k: number,
  a: RowOperand,
  call: (
    kernels: Parameters<KernelCase["call"]>[0],
    at: Parameters<KernelCase["call"]>[1],
    m: number,
  ) => void,
  reference: (row: ArrayLike<number>) => QuantizedRow,
): KernelCase {
  return {
    label: `m=${rows} k=${k}`,
    rows,
    inputs: { a },
    results: { q: { width: 4 + Math.ceil(k / 4), type: "i32" } },
    call,
    expected: () => ({
      q: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
        Array.from(
          quantizedWords(reference(a.data.subarray(i * k, (i + 1) * k))),
        )
      ),
    }),
    tolerance: 0,
    work: { count: rows * k, unit: "G elements/s" },
  };
}

/** Dynamic quantisation to 7 or 8 bits. */
export const quantizeCase = caseFamily<QuantizeCaseSize>(
  ({ prng }) => ({
    k: drawSize(prng),
    levels: prng.int(2) === 0 ? 127 : 255,
  }),
  (draw, { k, levels }) =>
    quantizationCase(
      draw,
      k,
      drawRows(draw, k),
      (kernels, at, m) => kernels.quantize_rows_f32(m, k, levels, at.a, at.q),
      (row) => quantizeDynamic(row, levels),
    ),
);

/** Quantisation with a given scale and zero point. */
export const quantizeStaticCase = caseFamily<{ k: number }>(
  ({ prng }) => ({ k: drawSize(prng) }),
  (draw, { k }) => {
    const { prng, rows } = draw;
    const scale = Math.fround(0.003 + prng.float() / 64);
    const zero = prng.int(256);
    const a = drawRows(draw, k);
    const bytesOf = (words: Uint32Array) => {
      const width = words.byteLength / rows;
      return Uint8Array.from(
        { length: rows * k },
        (_, i) =>
          new Uint8Array(words.buffer, words.byteOffset)[
            Math.floor(i / k) * width + 16 + i % k
          ],
      );
    };
    return {
      ...quantizationCase(
        draw,
        k,
        a,
        (kernels, at, m) =>
          kernels.quantize_static_rows_f32(m, k, scale, zero, at.a, at.q),
        (row) => quantizeStatic(row, scale, zero),
      ),
      equivalent: () => ({
        nodes: [{
          opType: "QuantizeLinear",
          inputs: ["x", "scale", "zero"],
          outputs: ["y"],
        }],
        constants: [
          { name: "scale", shape: [], data: Float32Array.of(scale) },
          { name: "zero", shape: [], type: "u8", data: Uint8Array.of(zero) },
        ],
        inputs: [{ name: "x", shape: [rows, k], data: a.data }],
        outputs: [{
          name: "y",
          shape: [rows, k],
          type: "u8",
          of: (own) => bytesOf(own("q")),
        }],
        tolerance: 0,
      }),
    };
  },
);

/** Sizes of {@linkcode dynamicQ8Case}. */
export interface DynamicQ8Size {
  n: number;
  k: number;
  /** Weights distributed uniformly; normally, as trained ones about are, if absent. */
  uniform?: boolean;
}

/** int8 GEMM from f32 to f32: activations quantised to 7 bits on the way, per row. */
export const dynamicQ8Case = caseFamily<DynamicQ8Size>(
  ({ prng }) => ({ n: drawSize(prng), k: drawSize(prng) }),
  (draw, { n, k, uniform }): KernelCase => {
    const { rows } = draw;
    const a = drawRows(draw, k);
    const weight = uniform
      ? drawWeights(draw, n * k, k)
      : drawNormal(draw, n * k).map((w) => w / Math.sqrt(k));
    const bias = drawFloats(draw, n);
    const { values, scale } = quantizeWeights({ n, k, weight });
    const width = 4 + Math.ceil(k / 4);
    return {
      label: `m=${rows} n=${n} k=${k}${uniform ? ", uniform weights" : ""}`,
      rows,
      inputs: { a },
      blocks: { w: packQ8({ n, k, values, scale, bias }) },
      results: {
        q: { width, type: "i32" },
        c: { width: n, type: "f32" },
      },
      call(kernels, at, m) {
        kernels.quantize_rows_f32(m, k, 127, at.a, at.q);
        kernels.gemm_q8_f32(
          m,
          n,
          k,
          1,
          at.q,
          at.w,
          at.c,
          ACTIVATIONS.none,
        );
      },
      expected: () => ({
        c: Array.from({ length: rows }, (_, i) => i).flatMap((i) => {
          const row = quantizeDynamic(rowOf(a, i), 127);
          return Array.from({ length: n }, (_, j) => {
            const sum = integerSum(row, values.subarray(j * k, (j + 1) * k), 0);
            const factor = Math.fround(row.scale * scale[j]);
            const scaled = Math.fround(Math.fround(sum) * factor);
            return Math.fround(scaled + bias[j]);
          });
        }),
      }),
      tolerance: 0,
      work: { count: 2 * rows * n * k, unit: "GOP/s" },
      bytes: n * k + 4 * rows * (n + k),
      equivalent() {
        const turned = new Int8Array(k * n);
        for (let j = 0; j < n; ++j) {
          for (let i = 0; i < k; ++i) turned[i * n + j] = values[j * k + i];
        }
        return {
          nodes: [{
            opType: "DynamicQuantizeMatMul",
            domain: "com.microsoft",
            inputs: ["x", "w", "scale", "", "bias"],
            outputs: ["y"],
          }],
          constants: [
            { name: "w", shape: [k, n], type: "i8", data: turned },
            { name: "scale", shape: [n], data: scale },
            { name: "bias", shape: [n], data: bias },
          ],
          inputs: [{ name: "x", shape: [rows, k], data: a.data }],
          outputs: [{ name: "y", shape: [rows, n], of: floatsOf("c") }],
          // Activations have 7 bits here and 8 there.
          tolerance: 0.1,
        };
      },
    };
  },
);
