import { type Activation, ACTIVATIONS } from "../exports.ts";
import {
  type CaseDraw,
  type CaseGenerator,
  drawFloats,
  drawRows,
  drawSize,
  type KernelCase,
  rowOf,
  type RowOperand,
} from "../kernel_case.ts";
import { packQ8 } from "../pack_q8.ts";
import { activate } from "../reference/activation.ts";
import {
  integerSum,
  type QuantizedRow,
  quantizedWords,
  quantizeDynamic,
  quantizeStatic,
} from "../reference/q8.ts";

/** Dynamic quantisation to 7 or 8 bits. */
export const quantizeCase: CaseGenerator = (draw) => {
  const levels = draw.prng.int(2) === 0 ? 127 : 255;
  return quantization(
    draw,
    (kernels, k, at, m) => kernels.quantize_rows_f32(m, k, levels, at.a, at.q),
    (row) => quantizeDynamic(row, levels),
  );
};

/** Quantisation with a given scale and zero point. */
export const quantizeStaticCase: CaseGenerator = (draw) => {
  const scale = Math.fround(0.003 + draw.prng.float() / 64);
  const zero = draw.prng.int(256);
  return quantization(
    draw,
    (kernels, k, at, m) =>
      kernels.quantize_static_rows_f32(m, k, scale, zero, at.a, at.q),
    (row) => quantizeStatic(row, scale, zero),
  );
};

function quantization(
  draw: CaseDraw,
  call: (
    kernels: Parameters<KernelCase["call"]>[0],
    k: number,
    at: Parameters<KernelCase["call"]>[1],
    m: number,
  ) => void,
  reference: (row: ArrayLike<number>) => QuantizedRow,
): KernelCase {
  const k = drawSize(draw.prng);
  const a = drawRows(draw, k);
  const { rows } = draw;
  return {
    label: `m=${rows} k=${k}`,
    rows,
    inputs: { a },
    results: { q: { width: 4 + Math.ceil(k / 4), type: "i32" } },
    call: (kernels, at, m) => call(kernels, k, at, m),
    expected: () => ({
      q: Array.from({ length: rows }, (_, i) => i)
        .flatMap((i) => Array.from(quantizedWords(reference(rowOf(a, i))))),
    }),
    tolerance: 0,
    flops: 0,
  };
}

/** int8 GEMM to f32, exact i32 or requantised bytes, over 7 or 8 bits. */
export function gemmQ8Case(
  name: "gemm_q8_f32" | "gemm_q8_i32" | "gemm_q8_u8",
): CaseGenerator {
  return (draw): KernelCase => {
    const { prng, rows, exact } = draw;
    const [n, k] = [drawSize(prng), drawSize(prng)];
    const seven = prng.int(2);
    const bits = seven ? 128 : 256;
    const quantized = Array.from({ length: rows }, (): QuantizedRow => ({
      scale: exact ? 1 : Math.fround(0.01 + prng.float() / 50),
      zero: prng.int(bits),
      q: Array.from({ length: k }, () => prng.int(bits)),
    }));
    const values = Int8Array.from({ length: n * k }, () => prng.int(256) - 128);
    const zero = Int32Array.from({ length: n }, () => prng.int(9) - 4);
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
      integerSum(quantized[i]!, values.subarray(j * k, (j + 1) * k), zero[j]!);
    const real = (i: number, j: number) =>
      activate(
        act,
        Math.fround(
          Math.fround(
            Math.fround(sum(i, j)) *
              Math.fround(quantized[i]!.scale * scale[j]!),
          ) + bias[j]!,
        ),
      );
    const each = (value: (i: number, j: number) => number) =>
      Array.from(
        { length: rows * n },
        (_, at) => value(Math.floor(at / n), at % n),
      );
    const words = () =>
      Array.from({ length: rows }, (_, i) => {
        // relu has no rounding of its own, so that bytes are equal, not just close.
        const row = Array.from({ length: n }, (_, j) =>
          activate("relu", exact ? real(i, j) : sumAsFloat(i, j)));
        return Array.from(
          quantizedWords(quantizeStatic(row, outScale, outZero)),
        );
      }).flat();
    const sumAsFloat = (i: number, j: number) =>
      Math.fround(
        Math.fround(
          Math.fround(sum(i, j)) * Math.fround(quantized[i]!.scale * scale[j]!),
        ) + bias[j]!,
      );
    return {
      label: `m=${rows} n=${n} k=${k} seven=${seven}`,
      rows,
      inputs: { q },
      blocks: { w: packQ8({ n, k, values, scale, zero, bias }) },
      results: {
        c: name === "gemm_q8_u8"
          ? { width: 4 + Math.ceil(n / 4), type: "i32" }
          : { width: n, type: name === "gemm_q8_f32" ? "f32" : "i32" },
      },
      call(kernels, at, m) {
        const common = [m, n, k, seven, at.q!, at.w!, at.c!] as const;
        if (name === "gemm_q8_f32") {
          kernels.gemm_q8_f32(...common, ACTIVATIONS[act]);
        } else if (name === "gemm_q8_i32") kernels.gemm_q8_i32(...common);
        else {
          kernels.gemm_q8_u8(...common, ACTIVATIONS.relu, outScale, outZero);
        }
      },
      expected: () => ({
        c: name === "gemm_q8_f32"
          ? each(real)
          : name === "gemm_q8_i32"
          ? each(sum)
          : words(),
      }),
      tolerance: name === "gemm_q8_f32" && !exact ? 2 ** -20 : 0,
      flops: 2 * rows * n * k,
    };
  };
}
