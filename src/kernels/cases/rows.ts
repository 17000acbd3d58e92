import { assert } from "../../base/assert.ts";
import {
  type CaseGenerator,
  drawFloats,
  drawRows,
  drawSize,
  type KernelCase,
  rowOf,
} from "../kernel_case.ts";
import type { BinaryKernel, KernelExports, UnaryKernel } from "../exports.ts";
import { normalize, topk } from "../reference/norm.ts";
import { argmax, softmax } from "../reference/rows.ts";

/** Names of the exports with signature S. */
type NamesOf<S> = {
  [N in keyof KernelExports]: KernelExports[N] extends S ? N : never;
}[keyof KernelExports];

/** What sets one elementwise kernel apart. */
interface Elementwise {
  /** Inputs are drawn from (-range, range). */
  range?: number;
  /** Relative error allowed; 0 (default) demands the correctly rounded result. */
  tolerance?: number;
}

/** Cases of an elementwise kernel of one operand. */
export function unaryCase(
  name: NamesOf<UnaryKernel>,
  reference: (x: number) => number,
  { range = 1, tolerance = 0 }: Elementwise = {},
): CaseGenerator {
  return (draw) => {
    const n = drawSize(draw.prng);
    const a = drawRows(draw, n);
    a.data.forEach((value, i) => a.data[i] = value * range);
    return {
      label: `m=${draw.rows} n=${n}`,
      rows: draw.rows,
      inputs: { a },
      results: { out: { width: n, type: "f32" } },
      call: (kernels, at, m) => kernels[name](m, n, at.a, at.out),
      expected: () => ({ out: Float64Array.from(a.data, reference) }),
      tolerance,
      flops: 0,
    };
  };
}

/** Cases of an elementwise kernel of two operands; results are correctly rounded. */
export function binaryCase(
  name: NamesOf<BinaryKernel>,
  reference: (a: number, b: number) => number,
): CaseGenerator {
  return (draw) => {
    const n = drawSize(draw.prng);
    const a = drawRows(draw, n);
    const b = drawRows(draw, n);
    return {
      label: `m=${draw.rows} n=${n}`,
      rows: draw.rows,
      inputs: { a, b },
      results: { out: { width: n, type: "f32" } },
      call: (kernels, at, m) => kernels[name](m, n, at.a, at.b, at.out),
      expected: () => ({
        out: Float32Array.from(
          a.data,
          (value, i) => reference(value, b.data[i]),
        ),
      }),
      tolerance: 0,
      flops: 0,
    };
  };
}

/** Softmax over rows, logits in (-range, range). */
export const softmaxCase: CaseGenerator = (draw) => {
  const n = drawSize(draw.prng);
  const a = drawRows(draw, n);
  a.data.forEach((value, i) => a.data[i] = value * 20);
  return {
    label: `m=${draw.rows} n=${n}`,
    rows: draw.rows,
    inputs: { a },
    results: { out: { width: n, type: "f32" } },
    call: (kernels, at, m) => kernels.softmax_rows_f32(m, n, at.a, at.out),
    expected: () => ({
      out: Array.from({ length: draw.rows }, (_, i) => i)
        .flatMap((i) => Array.from(softmax(rowOf(a, i)))),
    }),
    tolerance: 2 ** -23 * (n / 4 + 8),
    flops: 0,
  };
};

/** Layer normalisation (with and without beta) or RMS normalisation. */
export function normCase(
  name: "layer_norm_f32" | "rms_norm_f32",
): CaseGenerator {
  return (draw) => {
    const n = drawSize(draw.prng);
    const a = drawRows(draw, n);
    const gamma = drawFloats(draw, n);
    const layer = name === "layer_norm_f32";
    const beta = layer && draw.prng.int(2) === 1
      ? drawFloats(draw, n)
      : undefined;
    const epsilon = 2 ** -10;
    return {
      label: `m=${draw.rows} n=${n}`,
      rows: draw.rows,
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
        out: Array.from({ length: draw.rows }, (_, i) => i).flatMap((i) =>
          Array.from(normalize(rowOf(a, i), gamma, beta, epsilon, layer))
        ),
      }),
      // Small integers are no exact case: the mean is rounded, and a deviation of 0 is scaled
      // by at most epsilon ** -0.5.
      tolerance: 2 ** -23 * (n / 8 + 16) * (draw.exact ? 128 : 8),
      flops: 0,
    };
  };
}

/** The k best of a row, with many ties in exact cases. */
export const topkCase: CaseGenerator = (draw) => {
  const n = drawSize(draw.prng);
  const k = 1 + draw.prng.int(Math.min(n, 12));
  const largest = draw.prng.int(2);
  const a = drawRows(draw, n);
  const each = (pick: (best: ReturnType<typeof topk>) => number[]) =>
    Array.from({ length: draw.rows }, (_, i) => i)
      .flatMap((i) => pick(topk(rowOf(a, i), k, largest === 1)));
  return {
    label: `m=${draw.rows} n=${n} k=${k} largest=${largest}`,
    rows: draw.rows,
    inputs: { a },
    results: {
      value: { width: k, type: "f32" },
      id: { width: k, type: "i32" },
    },
    call: (kernels, at, m) =>
      kernels.topk_rows_f32(m, n, k, largest, at.a, at.value, at.id),
    expected: () => ({
      value: each(({ values }) => values),
      id: each(({ ids }) => ids),
    }),
    tolerance: 0,
    flops: 0,
  };
};

/** Arg-max over rows, with many ties in exact cases. */
export const argmaxCase: CaseGenerator = (draw) => {
  const n = drawSize(draw.prng);
  const a = drawRows(draw, n);
  return {
    label: `m=${draw.rows} n=${n}`,
    rows: draw.rows,
    inputs: { a },
    results: { id: { width: 1, type: "i32" } },
    call: (kernels, at, m) => kernels.argmax_rows_f32(m, n, at.a, at.id),
    expected: () => ({
      id: Array.from({ length: draw.rows }, (_, i) => argmax(rowOf(a, i))),
    }),
    tolerance: 0,
    flops: 0,
  };
};

/** Copy of rows. */
export const copyCase: CaseGenerator = (draw) => {
  const n = drawSize(draw.prng);
  const a = drawRows(draw, n);
  return {
    label: `m=${draw.rows} n=${n}`,
    rows: draw.rows,
    inputs: { a },
    results: { out: { width: n, type: "f32" } },
    call: (kernels, at, m) => kernels.copy_rows(m, 4 * n, at.a, at.out),
    expected: () => ({ out: a.data }),
    tolerance: 0,
    flops: 0,
  };
};

/** Embedding lookup; the addresses it writes are followed by a copy. */
export const gatherCase: CaseGenerator = (draw): KernelCase => {
  const { prng, rows } = draw;
  const n = drawSize(prng);
  const count = drawSize(prng);
  const table = drawFloats(draw, count * n);
  const ids = Int32Array.from({ length: rows }, () => prng.int(count));
  return {
    label: `m=${rows} n=${n} count=${count}`,
    rows,
    inputs: { ids: { width: 1, data: ids } },
    blocks: { table },
    results: {
      out: { width: n, type: "f32" },
      found: { width: 1, type: "address", contiguous: true },
    },
    call(kernels, at, m) {
      const bad = kernels.gather_rows(
        m,
        at.ids,
        at.table,
        4 * n,
        count,
        at.found,
      );
      assert(bad === -1, `row ${bad} was refused`);
      kernels.copy_rows(m, 4 * n, at.found, at.out);
    },
    expected: () => ({
      out: Array.from(ids).flatMap((id) =>
        Array.from(table.subarray(id * n, (id + 1) * n))
      ),
    }),
    tolerance: 0,
    flops: 0,
  };
};
