import {
  caseFamily,
  drawRows,
  rowOf,
  type RowOperand,
} from "../kernel_case.ts";
import { floatsOf } from "../equivalent.ts";
import { attention } from "../reference/attention.ts";

const APPENDED = 8;

/** Sizes of an attention case. */
export interface AttentionCaseSize {
  heads: number;
  kvHeads: number;
  headSize: number;
  capacity: number;
  /** Every row sees all positions; drawn lengths if absent. */
  full?: boolean;
}

/** Attention over caches of different lengths; every row has a cache of its own. */
export const attentionCase = caseFamily<AttentionCaseSize>(
  ({ prng }) => {
    const kvHeads = 1 + prng.int(2);
    return {
      heads: kvHeads * (1 + prng.int(2)),
      kvHeads,
      headSize: [1, 3, 4, 8, 16, 17, 40][prng.int(7)]!,
      capacity: 8 * (1 + prng.int(6)),
    };
  },
  (draw, { heads, kvHeads, headSize, capacity, full = false }) => {
    const { prng, rows } = draw;
    const size = { heads, kvHeads, headSize };
    const width = kvHeads * headSize;
    const q = drawRows(draw, heads * headSize);
    const k = drawRows(draw, capacity * width);
    const v = drawRows(draw, capacity * width);
    const lengths = Int32Array.from(
      { length: rows },
      () => full ? capacity : prng.int(capacity + 1),
    );
    const scale = Math.fround(1 / Math.sqrt(headSize));
    /** Cache layouts of assembly/attention.ts, from [position][kvHeads][headSize]. */
    const cache = (
      rowsOf: RowOperand,
      place: (head: number, position: number, i: number) => number,
    ): RowOperand => {
      const data = new Float32Array(rowsOf.data.length);
      for (let row = 0; row < rows; ++row) {
        const from = rowOf(rowsOf, row);
        const to = data.subarray(row * capacity * width);
        for (let t = 0; t < capacity; ++t) {
          for (let head = 0; head < kvHeads; ++head) {
            for (let i = 0; i < headSize; ++i) {
              // Positions that nobody sees hold what must never enter a sum.
              to[place(head, t, i)] = t < lengths[row]!
                ? from[(t * kvHeads + head) * headSize + i]!
                : NaN;
            }
          }
        }
      }
      return { width: capacity * width, data };
    };
    return {
      label:
        `m=${rows} heads=${heads}/${kvHeads} size=${headSize} capacity=${capacity}`,
      rows,
      inputs: {
        q,
        keys: cache(
          k,
          (head, t, i) =>
            head * capacity * headSize + (t >> 3) * headSize * 8 + i * 8 +
            (t & 7),
        ),
        values: cache(v, (head, t, i) => (head * capacity + t) * headSize + i),
        lengths: { width: 1, data: lengths, contiguous: true },
      },
      scratch: { scratch: 16 * capacity },
      results: { out: { width: heads * headSize, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.attention_f32(
          m,
          heads,
          kvHeads,
          headSize,
          capacity,
          scale,
          at.q!,
          at.keys!,
          at.values!,
          at.lengths!,
          at.out!,
          at.scratch!,
        ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
          Array.from(
            attention(
              size,
              scale,
              rowOf(q, i),
              rowOf(k, i),
              rowOf(v, i),
              lengths[i]!,
            ),
          )
        ),
      }),
      tolerance: 2 ** -23 * (capacity + headSize * (draw.exact ? 64 : 4) + 32),
      work: {
        count: 4 * heads * headSize * lengths.reduce((a, b) => a + b, 0),
        unit: "GFLOP/s",
      },
      // One query token a request; peers see [request][token][heads * headSize].
      ...(full && heads === kvHeads && {
        equivalent: () => ({
          nodes: [{
            opType: "MultiHeadAttention",
            domain: "com.microsoft",
            inputs: ["q", "k", "v"],
            outputs: ["y"],
            attributes: { num_heads: heads },
          }],
          constants: [],
          inputs: [
            { name: "q", shape: [rows, 1, width], data: q.data },
            { name: "k", shape: [rows, capacity, width], data: k.data },
            { name: "v", shape: [rows, capacity, width], data: v.data },
          ],
          outputs: [
            { name: "y", shape: [rows, 1, width], of: floatsOf("out") },
          ],
          tolerance: 1e-4,
        }),
      }),
    };
  },
);

/** Fills whole caches, position by position. */
export const attentionAppendCase = caseFamily<
  { kvHeads: number; headSize: number }
>(({ prng }) => ({
  kvHeads: 1 + prng.int(3),
  headSize: 1 + prng.int(20),
}), (draw, { kvHeads, headSize }) => {
  const { rows } = draw;
  const width = kvHeads * headSize;
  const steps = Array.from({ length: APPENDED }, () => ({
    k: drawRows(draw, width),
    v: drawRows(draw, width),
  }));
  const expected = (
    name: "k" | "v",
    place: (t: number, i: number) => number,
  ) => {
    const out = new Float64Array(rows * APPENDED * width);
    for (let row = 0; row < rows; ++row) {
      steps.forEach((step, t) => {
        for (let i = 0; i < width; ++i) {
          out[row * APPENDED * width + place(t, i)] = rowOf(
            step[name],
            row,
          )[i]!;
        }
      });
    }
    return out;
  };
  const head = (i: number) => Math.floor(i / headSize) * APPENDED * headSize;
  return {
    label: `m=${rows} kvHeads=${kvHeads} size=${headSize}`,
    rows,
    inputs: Object.fromEntries(steps.flatMap(({ k, v }, t) => [
      [`k${t}`, k],
      [`v${t}`, v],
      [`position${t}`, {
        width: 1,
        data: new Int32Array(rows).fill(t),
        contiguous: true,
      }],
    ])),
    results: {
      keys: { width: APPENDED * width, type: "f32" },
      values: { width: APPENDED * width, type: "f32" },
    },
    call(kernels, at, m) {
      for (let t = 0; t < APPENDED; ++t) {
        kernels.attention_append_f32(
          m,
          kvHeads,
          headSize,
          APPENDED,
          at[`k${t}`]!,
          at[`v${t}`]!,
          at[`position${t}`]!,
          at.keys!,
          at.values!,
        );
      }
    },
    expected: () => ({
      keys: expected("k", (t, i) => head(i) + i % headSize * 8 + t),
      values: expected("v", (t, i) => head(i) + t * headSize + i % headSize),
    }),
    tolerance: 0,
  };
});
