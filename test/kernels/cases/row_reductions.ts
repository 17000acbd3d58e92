import {
  type CaseFamily,
  caseFamily,
  drawFloats,
  drawRows,
  drawSize,
  rowOf,
} from "../kernel_case.ts";
import { floatsOf, integersOf } from "../equivalent.ts";
import { normalize, topk } from "../reference/norm.ts";
import { argmax, softmax } from "../reference/rows.ts";
import { drawRowSize, elements, rowEquivalent, type RowSize } from "./rows.ts";

/** Softmax over rows, logits in (-20, 20). */
export const softmaxCase = caseFamily<RowSize>(drawRowSize, (draw, { n }) => {
  const { rows } = draw;
  const a = drawRows(draw, n);
  a.data.forEach((value, i) => a.data[i] = value * 20);
  return {
    label: `m=${rows} n=${n}`,
    rows,
    inputs: { a },
    results: { out: { width: n, type: "f32" } },
    call: (kernels, at, m) => kernels.softmax_rows_f32(m, n, at.a, at.out),
    expected: () => ({
      out: Array.from({ length: rows }, (_, i) => i)
        .flatMap((i) => Array.from(softmax(rowOf(a, i)))),
    }),
    tolerance: 2 ** -23 * (n / 4 + 8),
    work: elements(rows * n),
    equivalent: () =>
      rowEquivalent(rows, n, { opType: "Softmax" }, [a.data as Float32Array]),
  };
});

/** Layer normalisation (with and without beta) or RMS normalisation. */
export function normCase(
  name: "layer_norm_f32" | "rms_norm_f32",
): CaseFamily<RowSize & { shifted?: boolean }> {
  const layer = name === "layer_norm_f32";
  return caseFamily<RowSize & { shifted?: boolean }>(
    ({ prng }) => ({ n: drawSize(prng), shifted: prng.int(2) === 1 }),
    (draw, { n, shifted = true }) => {
      const { rows } = draw;
      const a = drawRows(draw, n);
      const gamma = drawFloats(draw, n);
      const beta = layer && shifted ? drawFloats(draw, n) : undefined;
      const epsilon = 2 ** -10;
      return {
        label: `m=${rows} n=${n}`,
        rows,
        inputs: { a },
        blocks: { gamma, ...(beta && { beta }) },
        results: { out: { width: n, type: "f32" } },
        call: (kernels, at, m) =>
          layer
            ? kernels.layer_norm_f32(
              m,
              n,
              at.a,
              at.gamma,
              at.beta ?? 0,
              epsilon,
              at.out,
            )
            : kernels.rms_norm_f32(m, n, at.a, at.gamma, epsilon, at.out),
        expected: () => ({
          out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
            Array.from(normalize(rowOf(a, i), gamma, beta, epsilon, layer))
          ),
        }),
        // Small integers are no exact case: the mean is rounded, and a deviation of 0 is scaled
        // by at most epsilon ** -0.5.
        tolerance: 2 ** -23 * (n / 8 + 16) * (draw.exact ? 128 : 8),
        work: elements(rows * n),
        equivalent: () =>
          rowEquivalent(
            rows,
            n,
            {
              // What became RMSNormalization in opset 23; runtimes know it under this name.
              opType: layer
                ? "LayerNormalization"
                : "SimplifiedLayerNormalization",
              attributes: { axis: 1, epsilon: { float: epsilon } },
            },
            [a.data as Float32Array],
            {
              constants: [
                { name: "gamma", shape: [n], data: gamma },
                ...(beta ? [{ name: "beta", shape: [n], data: beta }] : []),
              ],
            },
          ),
      };
    },
  );
}

/** The k best of a row, with many ties in exact cases. */
export const topkCase = caseFamily<RowSize & { k: number; largest?: boolean }>(
  ({ prng }) => {
    const n = drawSize(prng);
    return { n, k: 1 + prng.int(Math.min(n, 12)), largest: prng.int(2) === 1 };
  },
  (draw, { n, k, largest = true }) => {
    const { rows } = draw;
    const a = drawRows(draw, n);
    const each = (pick: (best: ReturnType<typeof topk>) => number[]) =>
      Array.from({ length: rows }, (_, i) => i)
        .flatMap((i) => pick(topk(rowOf(a, i), k, largest)));
    return {
      label: `m=${rows} n=${n} k=${k} ${largest ? "largest" : "least"}`,
      rows,
      inputs: { a },
      results: {
        value: { width: k, type: "f32" },
        id: { width: k, type: "i32" },
      },
      call: (kernels, at, m) =>
        kernels.topk_rows_f32(
          m,
          n,
          k,
          largest ? 1 : 0,
          at.a,
          at.value,
          at.id,
        ),
      expected: () => ({
        value: each(({ values }) => values),
        id: each(({ ids }) => ids),
      }),
      tolerance: 0,
      work: elements(rows * n),
      equivalent: () =>
        rowEquivalent(
          rows,
          n,
          { opType: "TopK", attributes: { axis: 1, largest: largest ? 1 : 0 } },
          [a.data as Float32Array],
          {
            constants: [{
              name: "k",
              shape: [1],
              type: "i64",
              data: BigInt64Array.of(BigInt(k)),
            }],
            outputs: [
              { name: "y", shape: [rows, k], of: floatsOf("value") },
              {
                name: "ids",
                shape: [rows, k],
                type: "i64",
                of: integersOf("id"),
              },
            ],
            tolerance: 0,
          },
        ),
    };
  },
);

/** Arg-max over rows, with many ties in exact cases. */
export const argmaxCase = caseFamily<RowSize>(drawRowSize, (draw, { n }) => {
  const { rows } = draw;
  const a = drawRows(draw, n);
  return {
    label: `m=${rows} n=${n}`,
    rows,
    inputs: { a },
    results: { id: { width: 1, type: "i32" } },
    call: (kernels, at, m) => kernels.argmax_rows_f32(m, n, at.a, at.id),
    expected: () => ({
      id: Array.from({ length: rows }, (_, i) => argmax(rowOf(a, i))),
    }),
    tolerance: 0,
    work: elements(rows * n),
    equivalent: () =>
      rowEquivalent(
        rows,
        n,
        { opType: "ArgMax", attributes: { axis: 1, keepdims: 0 } },
        [a.data as Float32Array],
        {
          outputs: [{
            name: "y",
            shape: [rows],
            type: "i64",
            of: integersOf("id"),
          }],
          tolerance: 0,
        },
      ),
  };
});
