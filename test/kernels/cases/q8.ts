import {
  type Activation,
  ACTIVATIONS,
} from "../../../src/kernels/module/activations.ts";
import {
  type CaseDraw,
  type CaseFamily,
  caseFamily,
  drawFloats,
  drawNormal,
  drawSize,
  type KernelCase,
  type RowOperand,
} from "../kernel_case.ts";
import { integersOf } from "../equivalent.ts";
import {
  packedQ8Words,
  packQ8,
  quantizeWeights,
} from "../../../src/kernels/pack/pack_q8.ts";
import type { Prng } from "../../../src/base/prng.ts";
import { activate } from "../reference/activation.ts";
import {
  integerSum,
  type QuantizedRow,
  quantizedWords,
  quantizeStatic,
} from "../reference/q8.ts";

/** Sizes of an int8 GEMM; `seven`: activations of 7 bits. */
export interface Q8CaseSize {
  n: number;
  k: number;
  seven: boolean;
  /** Zero point of all rows, which peers demand; drawn for every row if absent. */
  rowZero?: number;
}

const drawQ8Size = ({ prng }: CaseDraw): Q8CaseSize => ({
  n: drawSize(prng),
  k: drawSize(prng),
  seven: prng.int(2) === 1,
});

/** Bytes below `bits`, now and then all of them as large as can be. */
export function drawActivations(prng: Prng, k: number, bits: number): number[] {
  const largest = prng.int(4) === 0;
  return Array.from({ length: k }, () => largest ? bits - 1 : prng.int(bits));
}

/** Weights that may be chained nowhere, nearly everywhere, or everywhere (assembly/q8_exceptions.ts). */
export function drawBytes(
  draw: CaseDraw,
  { n, k }: { n: number; k: number },
): Int8Array {
  const { prng } = draw;
  const length = n * k;
  switch (prng.int(4)) {
    case 0:
      return Int8Array.from({ length }, () => prng.int(256) - 128);
    case 1:
      return new Int8Array(length).fill(prng.int(2) === 0 ? 127 : -128);
    case 2:
      return Int8Array.from({ length }, () => prng.int(129) - 64);
    default:
      return quantizeWeights({ n, k, weight: drawNormal(draw, length) }).values;
  }
}

/** Zero points of weights, half of the time none. */
export function drawZeros(prng: Prng, count: number): Int32Array {
  const any = prng.int(2) === 1;
  return Int32Array.from({ length: count }, () => any ? prng.int(9) - 4 : 0);
}

/** int8 GEMM to f32, exact i32 or requantised bytes, over 7 or 8 bits. */
export function gemmQ8Case(
  name: "gemm_q8_f32" | "gemm_q8_i32" | "gemm_q8_u8",
): CaseFamily<Q8CaseSize> {
  return caseFamily<Q8CaseSize>(drawQ8Size, (draw, size) => {
    const { n, k, seven, rowZero } = size;
    const { prng, rows, exact } = draw;
    const bits = seven ? 128 : 256;
    const quantized = Array.from({ length: rows }, (): QuantizedRow => ({
      scale: exact ? 1 : Math.fround(0.01 + prng.float() / 50),
      zero: rowZero ?? prng.int(bits),
      q: drawActivations(prng, k, bits),
    }));
    const values = drawBytes(draw, { n, k });
    const zero = drawZeros(prng, n);
    const scale = Float32Array.from(
      { length: n },
      () => exact ? 1 : (0.5 + prng.float()) / 128 / Math.sqrt(k),
    );
    const bias = drawFloats(draw, n);
    const act: Activation = exact ? "relu" : "tanh";
    const outScale = Math.fround(1 / 128);
    const outZero = 100;
    const width = 4 + Math.ceil(k / 4);
    const data = new Int32Array(rows * width);
    quantized.forEach((row, i) => data.set(quantizedWords(row), i * width));
    const q: RowOperand = { width, data };
    const sum = (i: number, j: number) =>
      integerSum(quantized[i], values.subarray(j * k, (j + 1) * k), zero[j]);
    /** The sum scaled and biased, rounded as the kernel rounds. */
    const scaled = (i: number, j: number) =>
      Math.fround(
        Math.fround(
          Math.fround(sum(i, j)) *
            Math.fround(quantized[i].scale * scale[j]),
        ) + bias[j],
      );
    const each = (value: (i: number, j: number) => number) =>
      Array.from(
        { length: rows * n },
        (_, at) => value(Math.floor(at / n), at % n),
      );
    const requantized = () =>
      Array.from({ length: rows }, (_, i) => {
        // relu has no rounding of its own, so that bytes are equal, not just close.
        const row = Array.from(
          { length: n },
          (_, j) => activate("relu", scaled(i, j)),
        );
        return Array.from(
          quantizedWords(quantizeStatic(row, outScale, outZero)),
        );
      }).flat();
    const kernelCase: KernelCase = {
      label: `m=${rows} n=${n} k=${k} ${seven ? 7 : 8} bits`,
      rows,
      inputs: { q },
      blocks: { w: packQ8({ n, k, values, scale, zero, bias }) },
      results: {
        c: name === "gemm_q8_u8"
          ? { width: 4 + Math.ceil(n / 4), type: "i32" }
          : { width: n, type: name === "gemm_q8_f32" ? "f32" : "i32" },
      },
      call(kernels, at, m) {
        const common = [m, n, k, seven ? 1 : 0, at.q, at.w, at.c] as const;
        if (name === "gemm_q8_f32") {
          kernels.gemm_q8_f32(...common, ACTIVATIONS[act]);
        } else if (name === "gemm_q8_i32") kernels.gemm_q8_i32(...common);
        else {
          kernels.gemm_q8_u8(...common, ACTIVATIONS.relu, outScale, outZero);
        }
      },
      expected: () => ({
        c: name === "gemm_q8_f32"
          ? each((i, j) => activate(act, scaled(i, j)))
          : name === "gemm_q8_i32"
          ? each(sum)
          : requantized(),
      }),
      tolerance: name === "gemm_q8_f32" && !exact ? 2 ** -20 : 0,
      work: { count: 2 * rows * n * k, unit: "GOP/s" },
    };
    if (name !== "gemm_q8_i32" || rowZero === undefined) return kernelCase;
    return { ...kernelCase, equivalent: () => integerEquivalent(rowZero) };

    /** MatMulInteger with a zero point per column. */
    function integerEquivalent(aZero: number) {
      const turned = new Int8Array(k * n);
      for (let j = 0; j < n; ++j) {
        for (let i = 0; i < k; ++i) turned[i * n + j] = values[j * k + i];
      }
      return {
        nodes: [{
          opType: "MatMulInteger",
          inputs: ["a", "w", "aZero", "wZero"],
          outputs: ["y"],
        }],
        constants: [
          { name: "w", shape: [k, n], type: "i8" as const, data: turned },
          {
            name: "aZero",
            shape: [],
            type: "u8" as const,
            data: Uint8Array.of(aZero),
          },
          {
            name: "wZero",
            shape: [n],
            type: "i8" as const,
            data: Int8Array.from(zero),
          },
        ],
        inputs: [
          {
            name: "a",
            shape: [rows, k],
            type: "u8" as const,
            data: Uint8Array.from(quantized.flatMap(({ q }) => q)),
          },
        ],
        outputs: [{
          name: "y",
          shape: [rows, n],
          type: "i32" as const,
          of: integersOf("c"),
        }],
        tolerance: 0,
      };
    }
  });
}

/** Sizes of an int8 product of two run-time operands. */
export interface DynamicQ8CaseSize extends Q8CaseSize {
  transposed: boolean;
  /** What becomes of sums. */
  to: "i32" | "f32";
}

/** Product of two run-time operands of int8: the right one, as it is or transposed, is packed first. */
export const packGemmQ8Case: CaseFamily<DynamicQ8CaseSize> = caseFamily(
  (draw) => ({
    ...drawQ8Size(draw),
    transposed: draw.prng.int(2) === 1,
    to: draw.prng.int(2) === 1 ? "i32" : "f32",
  }),
  (draw, { n, k, seven, rowZero, transposed, to }) => {
    const { prng, rows } = draw;
    const bits = seven ? 128 : 256;
    const drawRow = (bits: number, length: number): QuantizedRow => ({
      scale: Math.fround(0.01 + prng.float() / 50),
      zero: rowZero ?? prng.int(bits),
      q: drawActivations(prng, length, bits),
    });
    const a = Array.from({ length: rows }, () => drawRow(bits, k));
    const [count, width] = transposed ? [n, k] : [k, n];
    const b = Array.from({ length: count }, () => drawRow(256, width));
    if (!transposed) {
      // One scale and zero point for all.
      for (const row of b) Object.assign(row, { ...b[0], q: row.q });
    }
    const column = (j: number) => b[transposed ? j : 0];
    const byte = (j: number, i: number) => transposed ? b[j].q[i] : b[i].q[j];
    const sum = (i: number, j: number) =>
      a[i].q.reduce(
        (sum, q, at) => sum + (q - a[i].zero) * (byte(j, at) - column(j).zero),
        0,
      );
    const words = (rows: readonly QuantizedRow[], length: number) => {
      const width = 4 + Math.ceil(length / 4);
      const data = new Int32Array(rows.length * width);
      rows.forEach((row, i) => data.set(quantizedWords(row), i * width));
      return { width, data };
    };
    const right = words(b, width);
    return {
      label: `m=${rows} n=${n} k=${k} ${seven ? 7 : 8} bits${
        transposed ? " transposed" : ""
      }`,
      rows,
      inputs: { q: words(a, k) },
      blocks: { b: right.data },
      tables: { bRows: { block: "b", width: right.width } },
      scratch: { w: 4 * packedQ8Words({ n, k }) },
      results: { c: { width: n, type: to } },
      call(kernels, at, m) {
        kernels.pack_gemm_q8(n, k, at.bRows, transposed ? 1 : 0, at.w);
        const product = [m, n, k, seven ? 1 : 0, at.q, at.w, at.c] as const;
        if (to === "i32") kernels.gemm_q8_i32(...product);
        else kernels.gemm_q8_f32(...product, ACTIVATIONS.none);
      },
      expected: () => ({
        c: Array.from({ length: rows * n }, (_, at) => {
          const [i, j] = [Math.floor(at / n), at % n];
          return to === "i32" ? sum(i, j) : Math.fround(
            Math.fround(sum(i, j)) * Math.fround(a[i].scale * column(j).scale),
          );
        }),
      }),
      tolerance: 0,
      work: { count: 2 * rows * n * k, unit: "GOP/s" },
      ...(rowZero !== undefined && to === "i32" && !transposed && {
        equivalent: () => ({
          nodes: [{
            opType: "MatMulInteger",
            inputs: ["a", "b", "aZero", "bZero"],
            outputs: ["y"],
          }],
          constants: ["aZero", "bZero"].map((name) => ({
            name,
            shape: [],
            type: "u8" as const,
            data: Uint8Array.of(rowZero),
          })),
          inputs: [
            {
              name: "a",
              shape: [rows, k],
              type: "u8" as const,
              data: Uint8Array.from(a.flatMap(({ q }) => q)),
            },
            {
              name: "b",
              shape: [k, n],
              type: "u8" as const,
              data: Uint8Array.from(b.flatMap(({ q }) => q)),
            },
          ],
          outputs: [{
            name: "y",
            shape: [rows, n],
            type: "i32" as const,
            of: integersOf("c"),
          }],
          tolerance: 0,
        }),
      }),
    };
  },
);
