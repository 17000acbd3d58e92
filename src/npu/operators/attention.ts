/**
 * Attention. What a row costs depends on how many tokens it has and how many positions they see, so every
 * row has products of its own.
 * Assumption: causal attention is computed in full and masked.
 */
import type { AttentionOperator, CacheRef } from "../../graph/operator.ts";
import type { Extent } from "../../graph/cache.ts";
import { axesOf, lastAxis, rowsOf } from "../../graph/row_layout.ts";
import {
  attention as attentionLayer,
  layerNorm,
  PASSES,
  SOFTMAX_PASSES,
} from "../layers.ts";
import type { Costs, RowCosts } from "./costs.ts";
import { onVector } from "./elementwise.ts";

/** Operators that cost by row. */
type LooksBack = "Attention" | "AdditiveAttention";

export const attention: Costs<
  Exclude<AttentionOperator, { readonly op: LooksBack }>
> = {
  CacheAppend: ({ cache }, { name, rows }) => [{
    name,
    gemms: [],
    vector: [],
    extraReadWords: 0,
    extraWriteWords: rows * (cache.keyWidth + cache.valueWidth),
  }],
  LayerNormalization: ({ outputs }, { name, rows }) => [
    {
      ...layerNorm(
        name,
        { width: lastAxis(outputs[0]) },
        rows * rowsOf(outputs[0]),
      ),
      extraReadWords: 0,
      extraWriteWords: 0,
    },
  ],
  RowAttention: ({ heads, kvHeads, inputs: [q, k] }, { name, rows }) => {
    const [queries, keys] = [axesOf(q).at(-2)!, axesOf(k).at(-2)!];
    const headWidth = lastAxis(q) / heads;
    const groups = rowsOf(q) / queries;
    const sizes = { heads, kvHeads, headWidth, queries, keys };
    return [attentionLayer(name, sizes, rows * groups)];
  },
  /** Without mean and shift. */
  RMSNormalization: onVector(
    PASSES.mul + PASSES.add + PASSES.mul + PASSES.mul,
  ),
};

export const attentionByRow: RowCosts<
  Extract<AttentionOperator, { readonly op: LooksBack }>
> = {
  Attention: ({ heads, kvHeads, cache, inputs }, { name, extent, count }) => [
    attentionLayer(name, {
      heads,
      kvHeads,
      headWidth: inputs[0].width / heads,
      queries: extent.length,
      keys: seen(cache, extent),
    }, count),
  ],
  // Scores are a product with one column, the mean one with one row.
  AdditiveAttention: ({ cache }, { name, extent, count }) => {
    const keys = extent.length * seen(cache, extent);
    const { keyWidth: k, valueWidth } = cache;
    return [{
      name,
      gemms: [
        { gemm: { m: keys, n: 1, k }, copies: count },
        {
          gemm: { m: extent.length, n: valueWidth, k: seen(cache, extent) },
          copies: count,
          filterIsActivation: true,
        },
      ],
      vector: [
        { name: "add", elements: count * keys * k, passes: PASSES.add },
        {
          name: "tanh",
          elements: count * keys * k,
          passes: PASSES.transcendental,
        },
        { name: "softmax", elements: count * keys, passes: SOFTMAX_PASSES },
      ],
      extraReadWords: 0,
      extraWriteWords: 0,
    }];
  },
};

function seen({ kind, index }: CacheRef, extent: Extent): number {
  return kind === "local" ? extent.length : extent.caches[index].seen;
}
