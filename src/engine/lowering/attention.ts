import { wholePanels } from "../../graph/cache.ts";
import type { AttentionOperator, Value } from "../../graph/operator.ts";
import { lastAxis } from "../../graph/row_layout.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import type { Lowerings } from "./lowering.ts";

/** Vectors of scores that attention_f32 keeps at once (attention_scratch_bytes). */
const SCORES = 16;

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
    { cache, heads, kvHeads, scale, causal, inputs, outputs },
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
      lowering.tableOf(q),
      lowering.cacheTable(cache, "keys"),
      lowering.cacheTable(cache, "values"),
      causal
        ? lowering.offset(lowering.cacheTable(cache, "position"), 1)
        : lowering.cacheTable(cache, "seen"),
      lowering.output(outputs[0]),
      { scratch: lowering.scratch(SCORES * capacity * BYTES_PER_ELEMENT) },
    ]);
  },

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
