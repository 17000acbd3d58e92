import {
  type CaseGenerator,
  drawFloats,
  drawRows,
  drawSize,
  drawWeights,
} from "../kernel_case.ts";
import { type Activation, ACTIVATIONS } from "../exports.ts";
import { activate } from "../reference/activation.ts";
import { packedGemmFloats, packGemm } from "../pack.ts";
import { gemm } from "../reference/gemm.ts";
import { argmax } from "../reference/rows.ts";

/** GEMM over one or two K segments with every activation. */
export const gemmCase: CaseGenerator = (draw) => {
  const { prng, rows, exact } = draw;
  const n = drawSize(prng);
  const k1 = drawSize(prng);
  const k2 = prng.int(2) === 0 ? 0 : drawSize(prng);
  const k = k1 + k2;
  const names =
    (exact ? ["none", "relu"] : Object.keys(ACTIVATIONS)) as Activation[];
  const act = names[prng.int(names.length)];
  const weight = drawWeights(draw, n * k, k);
  const bias = drawFloats(draw, n);
  const a1 = drawRows(draw, k1);
  const a2 = drawRows(draw, k2);
  return {
    label: `m=${rows} n=${n} k=${k1}+${k2} ${act}`,
    rows,
    inputs: { a1, a2 },
    blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
    results: { c: { width: n, type: "f32" } },
    call: (kernels, at, m) =>
      kernels.gemm_f32(
        m,
        n,
        k1,
        at.a1,
        k2,
        k2 > 0 ? at.a2 : 0,
        at.w,
        at.c,
        ACTIVATIONS[act],
      ),
    expected: () => ({
      c: gemm(
        { m: rows, n, k, a: concatenateRows(rows, a1, a2), weight, bias },
        act,
      ),
    }),
    tolerance: exact ? 0 : 2 ** -23 * (k + 8),
    flops: 2 * rows * n * k,
  };
};

/** GEMM whose result is added to a residual before the activation. */
export const gemmResidualCase: CaseGenerator = (draw) => {
  const { prng, rows, exact } = draw;
  const [n, k] = [drawSize(prng), drawSize(prng)];
  const names =
    (exact ? ["none", "relu"] : Object.keys(ACTIVATIONS)) as Activation[];
  const act = names[prng.int(names.length)]!;
  const weight = drawWeights(draw, n * k, k);
  const bias = drawFloats(draw, n);
  const a = drawRows(draw, k);
  const r = drawRows(draw, n);
  return {
    label: `m=${rows} n=${n} k=${k} ${act}`,
    rows,
    inputs: { a, r },
    blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
    results: { c: { width: n, type: "f32" } },
    call: (kernels, at, m) =>
      kernels.gemm_residual_f32(
        m,
        n,
        k,
        at.a,
        0,
        0,
        at.w,
        at.r,
        at.c,
        ACTIVATIONS[act],
      ),
    expected: () => ({
      c: gemm({ m: rows, n, k, a: a.data, weight, bias }, "none")
        .map((sum, i) => activate(act, sum + r.data[i])),
    }),
    tolerance: exact ? 0 : 2 ** -23 * (k + 8),
    flops: 2 * rows * n * k,
  };
};

/** Product of two run-time operands: the right one, as it is or transposed, is packed first. */
export const packGemmCase: CaseGenerator = (draw) => {
  const { prng, rows, exact } = draw;
  const [n, k] = [drawSize(prng), drawSize(prng)];
  const transposed = prng.int(2);
  const a = drawRows(draw, k);
  const b = drawWeights(draw, n * k, k);
  const weight = transposed
    ? b
    : Float32Array.from(b, (_, i) => b[i % k * n + Math.floor(i / k)]);
  return {
    label: `m=${rows} n=${n} k=${k} transposed=${transposed}`,
    rows,
    inputs: { a },
    blocks: { b },
    tables: { bRows: { block: "b", width: transposed ? k : n } },
    scratch: { w: 4 * packedGemmFloats({ n, k }) },
    results: { c: { width: n, type: "f32" } },
    call(kernels, at, m) {
      kernels.pack_gemm_f32(n, k, at.bRows, transposed, at.w);
      kernels.gemm_f32(m, n, k, at.a, 0, 0, at.w, at.c, ACTIVATIONS.none);
    },
    expected: () => ({
      c: gemm({ m: rows, n, k, a: a.data, weight }, "none"),
    }),
    tolerance: exact ? 0 : 2 ** -23 * (k + 8),
    flops: 2 * rows * n * k,
  };
};

/** Projection with arg-max, with and without stored logits. */
export const projectionCase: CaseGenerator = (draw) => {
  const { prng, rows, exact } = draw;
  const n = drawSize(prng);
  const k = drawSize(prng);
  const keep = prng.int(2) === 1;
  const weight = drawWeights(draw, n * k, k);
  const bias = drawFloats(draw, n);
  const a = drawRows(draw, k);
  const expected = () => {
    const logits = gemm({ m: rows, n, k, a: a.data, weight, bias }, "none");
    const row = (i: number) => logits.subarray(i * n, (i + 1) * n);
    const id = Int32Array.from({ length: rows }, (_, i) => argmax(row(i)));
    return {
      id,
      best: Float64Array.from(id, (j, i) => row(i)[j]),
      ...(keep ? { logits } : {}),
    };
  };
  return {
    label: `m=${rows} n=${n} k=${k} ${keep ? "logits kept" : "ids only"}`,
    rows,
    inputs: { a },
    blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
    results: {
      id: { width: 1, type: "i32" },
      best: { width: 1, type: "f32", contiguous: true },
      ...(keep ? { logits: { width: n, type: "f32" as const } } : {}),
    },
    call: (kernels, at, m) =>
      kernels.projection_argmax_f32(
        m,
        n,
        k,
        at.a,
        at.w,
        at.id,
        at.logits ?? 0,
        at.best,
      ),
    expected,
    tolerance: exact ? 0 : 2 ** -23 * (k + 8),
    flops: 2 * rows * n * k,
  };
};

function concatenateRows(
  rows: number,
  ...parts: readonly { width: number; data: ArrayLike<number> }[]
): Float64Array {
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  const out = new Float64Array(rows * width);
  let first = 0;
  for (const part of parts) {
    for (let i = 0; i < rows; ++i) {
      for (let j = 0; j < part.width; ++j) {
        out[i * width + first + j] = part.data[i * part.width + j];
      }
    }
    first += part.width;
  }
  return out;
}
