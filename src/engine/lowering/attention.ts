import { cacheBytes, wholePanels } from "../../graph/cache.ts";
import type {
  AttentionOperator,
  OperatorOf,
  Value,
} from "../../graph/operator.ts";
import { axesOf, lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { alignUp } from "../../graph/slot_plan.ts";
import { BIAS_BEHIND } from "../../kernels/spec/attention.ts";
import { BYTES_PER_ELEMENT, type Tensor } from "../../tensor/tensor.ts";
import type { TableRef } from "./cell_program.ts";
import { type Lowering, type Lowerings, times } from "./lowering.ts";

/** Vectors of scores that attention_f32 keeps at once (attention_scratch_bytes). */
const SCORES = 16;

/** A bias as attention_f32 takes it: the nearest position last. */
function biasRows(bias: Tensor, capacity: number): Float32Array {
  const [heads, distances] = bias.shape;
  const rows = new Float32Array(heads * capacity + BIAS_BEHIND);
  const data = bias.data as Float32Array;
  for (let head = 0; head < heads; head++) {
    const from = head * distances;
    const row = data.slice(from, from + Math.min(distances, capacity));
    rows.set(row.reverse(), (head + 1) * capacity - row.length);
  }
  return rows;
}

export const attention: Lowerings<AttentionOperator> = {
  CacheAppend({ cache, inputs }, lowering) {
    const [k, v] = inputs as [Value, Value];
    lowering.kernel("attention_append_f32", [
      "rows",
      k.width,
      v.width,
      lowering.tableOf(k),
      lowering.tableOf(v),
      lowering.cacheTable(cache, "position"),
      lowering.cacheTable(cache, "keys"),
      lowering.cacheTable(cache, "values"),
    ]);
  },

  Attention(
    { cache, heads, kvHeads, scale, cap, bias, causal, inputs, outputs },
    lowering,
  ) {
    const q = inputs[0];
    const capacity = wholePanels(cache.positionsMax);
    lowering.kernel("attention_f32", [
      "rows",
      heads,
      kvHeads,
      q.width / heads,
      capacity,
      scale,
      cap,
      lowering.tableOf(q),
      lowering.cacheTable(cache, "keys"),
      lowering.cacheTable(cache, "values"),
      causal
        ? lowering.offset(lowering.cacheTable(cache, "position"), 1)
        : lowering.cacheTable(cache, "seen"),
      bias ? lowering.place(biasRows(bias, capacity)) : 0,
      lowering.output(outputs[0]),
      { scratch: lowering.scratch(SCORES * capacity * BYTES_PER_ELEMENT) },
    ]);
  },

  RowAttention: lowerRowAttention,

  AdditiveAttention({ cache, v, inputs, outputs }, lowering) {
    const q = inputs[0];
    const scratch = wholePanels(cache.positionsMax) * BYTES_PER_ELEMENT;
    lowering.kernel("additive_attention_f32", [
      "rows",
      cache.keyWidth,
      cache.valueWidth,
      lowering.tableOf(q),
      lowering.place(v.data),
      lowering.cacheTable(cache, "keys"),
      lowering.cacheTable(cache, "values"),
      lowering.cacheTable(cache, "seen"),
      lowering.output(outputs[0]),
      { scratch: lowering.scratch(scratch) },
    ]);
  },

  LayerNormalization({ scale, bias, epsilon, inputs, outputs }, lowering) {
    const x = inputs[0];
    lowering.kernel("layer_norm_f32", [
      lowering.rows(x),
      lastAxis(x),
      lowering.rowTable(x),
      lowering.place(scale.data),
      bias ? lowering.place(bias.data) : 0,
      epsilon,
      lowering.outputRows(outputs[0]),
    ]);
  },

  RMSNormalization({ scale, epsilon, inputs: [x], outputs }, lowering) {
    lowering.kernel("rms_norm_f32", [
      lowering.rows(x),
      lastAxis(x),
      lowering.rowTable(x),
      lowering.place(scale.data),
      epsilon,
      lowering.outputRows(outputs[0]),
    ]);
  },
};

/** Keys and values are appended to caches in scratch rows, one for each of the axes in front, and looked at there. */
function lowerRowAttention(
  { heads, kvHeads, scale, causal, inputs, outputs: [out] }: OperatorOf<
    "RowAttention"
  >,
  lowering: Lowering,
): void {
  const [q, k, v] = inputs as [Value, Value, Value];
  const [queries, keys] = [axesOf(q).at(-2)!, axesOf(k).at(-2)!];
  const groups = rowsOf(q) / queries;
  const width = lastAxis(k);
  const bytes = cacheBytes({ keyWidth: width, valueWidth: width }, keys);
  const each = alignUp(bytes.all);
  const caches = lowering.spread(
    lowering.temporary(groups * each),
    groups,
    each,
  );
  const values = lowering.offset(caches, bytes.keys, groups);
  /** Of each group's entry, one for each of its rows. */
  const perRow = (table: TableRef, rows: number, step = 0) =>
    lowering.spread(table, rows, step, groups);
  const counted = (from: number, rows: number, step: number) => {
    const first = lowering.fixedTable(from, 0);
    return perRow(lowering.spread(first, groups, 0), rows, step);
  };
  lowering.kernel("attention_append_f32", [
    times(groups * keys),
    width,
    width,
    lowering.rowTable(k),
    lowering.rowTable(v),
    counted(0, keys, 1),
    perRow(caches, keys),
    perRow(values, keys),
  ]);
  const capacity = wholePanels(keys);
  lowering.kernel("attention_f32", [
    times(groups * queries),
    heads,
    kvHeads,
    lastAxis(q) / heads,
    capacity,
    scale,
    0,
    lowering.rowTable(q),
    perRow(caches, queries),
    perRow(values, queries),
    causal ? counted(1, queries, 1) : counted(keys, queries, 0),
    0,
    lowering.outputRows(out),
    { scratch: lowering.scratch(SCORES * capacity * BYTES_PER_ELEMENT) },
  ]);
}
