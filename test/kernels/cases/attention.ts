import {
  caseFamily,
  drawRows,
  drawWeights,
  rowOf,
  type RowOperand,
} from "../kernel_case.ts";
import { floatsOf } from "../equivalent.ts";
import { BIAS_BEHIND } from "../../../src/kernels/spec/attention.ts";
import { additiveAttention, attention } from "../reference/attention.ts";

/** Caches as assembly/attention.ts lays them out, from rows of [position][width]. */
function cache(
  rows: RowOperand,
  width: number,
  lengths: ArrayLike<number>,
  place: (position: number, i: number) => number,
): RowOperand {
  // Positions that nobody sees hold what must never enter a sum.
  const data = new Float32Array(rows.data.length).fill(NaN);
  for (let row = 0; row < lengths.length; ++row) {
    const from = rowOf(rows, row);
    const to = data.subarray(row * rows.width);
    for (let t = 0; t < lengths[row]; ++t) {
      for (let i = 0; i < width; ++i) {
        to[place(t, i)] = from[t * width + i];
      }
    }
  }
  return { width: rows.width, data };
}

function keyCache(
  rows: RowOperand,
  width: number,
  lengths: ArrayLike<number>,
): RowOperand {
  return cache(
    rows,
    width,
    lengths,
    (t, i) => (t >> 3) * width * 8 + i * 8 + (t & 7),
  );
}

function valueCache(
  rows: RowOperand,
  width: number,
  lengths: ArrayLike<number>,
): RowOperand {
  return cache(rows, width, lengths, (t, i) => t * width + i);
}

/** Positions that the cases append: whole panels, as everything is compared. */
const APPENDED = 16;

/** Sizes of an attention case. */
export interface AttentionCaseSize {
  heads: number;
  kvHeads: number;
  headSize: number;
  capacity: number;
  /** Every row sees all positions; drawn lengths if absent. */
  full?: boolean;
  /** Of scores; none if absent. */
  cap?: number;
  /** Whether one is added to scores. */
  biased?: boolean;
}

/** Attention over caches of different lengths; every row has a cache of its own. */
export const attentionCase = caseFamily<AttentionCaseSize>(
  ({ prng }) => {
    const kvHeads = 1 + prng.int(2);
    return {
      heads: kvHeads * (1 + prng.int(2)),
      kvHeads,
      headSize: [1, 3, 4, 8, 16, 17, 40][prng.int(7)],
      capacity: 8 * (1 + prng.int(6)),
      cap: [0, 0.5, 30][prng.int(3)],
      biased: prng.int(2) === 1,
    };
  },
  (draw, { heads, kvHeads, headSize, capacity, ...more }) => {
    const { full = false, cap = 0, biased = false } = more;
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
    const bias = biased
      ? drawWeights(draw, heads * capacity + BIAS_BEHIND, 1)
      : undefined;
    const shift = (length: number) => (x: number, head: number, t: number) =>
      (cap === 0 ? x : cap * Math.tanh(x)) +
      (bias?.[(head + 1) * capacity - length + t] ?? 0);
    return {
      label:
        `m=${rows} heads=${heads}/${kvHeads} size=${headSize} capacity=${capacity}${
          cap === 0 ? "" : ` cap=${cap}`
        }${biased ? " biased" : ""}`,
      rows,
      inputs: {
        q,
        keys: keyCache(k, width, lengths),
        values: valueCache(v, width, lengths),
        lengths: { width: 1, data: lengths, contiguous: true },
      },
      ...(bias && { blocks: { bias } }),
      scratch: { scratch: 64 * capacity },
      results: { out: { width: heads * headSize, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.attention_f32(
          m,
          heads,
          kvHeads,
          headSize,
          capacity,
          scale,
          cap,
          at.q,
          at.keys,
          at.values,
          at.lengths,
          biased ? at.bias : 0,
          at.out,
          at.scratch,
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
              lengths[i],
              shift(lengths[i]),
            ),
          )
        ),
      }),
      tolerance: 2 ** -23 *
        (capacity + headSize * (draw.exact ? 64 : 4) + 32 + 8 * cap),
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
  { keyWidth: number; valueWidth: number }
>(({ prng }) => ({
  keyWidth: 1 + prng.int(60),
  valueWidth: 1 + prng.int(60),
}), (draw, { keyWidth, valueWidth }) => {
  const { rows } = draw;
  const steps = Array.from({ length: APPENDED }, () => ({
    k: drawRows(draw, keyWidth),
    v: drawRows(draw, valueWidth),
  }));
  const expected = (
    name: "k" | "v",
    width: number,
    place: (t: number, i: number) => number,
  ) => {
    const out = new Float64Array(rows * APPENDED * width);
    for (let row = 0; row < rows; ++row) {
      steps.forEach((step, t) => {
        rowOf(step[name], row).forEach((x, i) =>
          out[row * APPENDED * width + place(t, i)] = x
        );
      });
    }
    return out;
  };
  return {
    label: `m=${rows} keys=${keyWidth} values=${valueWidth}`,
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
      keys: { width: APPENDED * keyWidth, type: "f32" },
      values: { width: APPENDED * valueWidth, type: "f32" },
    },
    call(kernels, at, m) {
      for (let t = 0; t < APPENDED; ++t) {
        kernels.attention_append_f32(
          m,
          keyWidth,
          valueWidth,
          at[`k${t}`],
          at[`v${t}`],
          at[`position${t}`],
          at.keys,
          at.values,
        );
      }
    },
    expected: () => ({
      keys: expected(
        "k",
        keyWidth,
        (t, i) => (t >> 3) * keyWidth * 8 + i * 8 + (t & 7),
      ),
      values: expected("v", valueWidth, (t, i) => t * valueWidth + i),
    }),
    tolerance: 0,
  };
});

/** Sizes of an additive attention case. */
export interface AdditiveAttentionCaseSize {
  keyWidth: number;
  valueWidth: number;
  capacity: number;
}

/** Additive attention over caches of different lengths; every row has a cache of its own. */
export const additiveAttentionCase = caseFamily<AdditiveAttentionCaseSize>(
  ({ prng }) => ({
    keyWidth: 1 + prng.int(40),
    valueWidth: [1, 3, 4, 8, 17, 40][prng.int(6)],
    capacity: 8 * (1 + prng.int(5)),
  }),
  (draw, { keyWidth, valueWidth, capacity }) => {
    const { prng, rows } = draw;
    const q = drawRows(draw, keyWidth);
    const k = drawRows(draw, capacity * keyWidth);
    const values = drawRows(draw, capacity * valueWidth);
    const v = drawWeights(draw, keyWidth, keyWidth);
    const lengths = Int32Array.from(
      { length: rows },
      () => prng.int(capacity + 1),
    );
    return {
      label:
        `m=${rows} keys=${keyWidth} values=${valueWidth} capacity=${capacity}`,
      rows,
      inputs: {
        q,
        keys: keyCache(k, keyWidth, lengths),
        values: valueCache(values, valueWidth, lengths),
        lengths: { width: 1, data: lengths, contiguous: true },
      },
      blocks: { v },
      scratch: { scratch: 4 * capacity },
      results: { out: { width: valueWidth, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.additive_attention_f32(
          m,
          keyWidth,
          valueWidth,
          at.q,
          at.v,
          at.keys,
          at.values,
          at.lengths,
          at.out,
          at.scratch,
        ),
      expected: () => ({
        out: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
          Array.from(
            additiveAttention(
              rowOf(q, i),
              v,
              rowOf(k, i),
              rowOf(values, i),
              { length: lengths[i], valueWidth },
            ),
          )
        ),
      }),
      // No case is exact: tanh is within 5 ulp.
      tolerance: 2 ** -21 *
        (draw.exact ? 16 * (keyWidth + capacity) : keyWidth + capacity + 32),
      work: {
        count: 2 * (2 * keyWidth + valueWidth) *
          lengths.reduce((a, b) => a + b, 0),
        unit: "GFLOP/s",
      },
    };
  },
);
