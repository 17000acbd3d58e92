/**
 * Operators of `com.microsoft` that exporters and ONNX Runtime's optimiser write, and ONNX's Einsum, RotaryEmbedding and
 * those on sequences, as nodes of ONNX's own: shapes, constants, fusions and kernels then are those of these.
 * Source: ContribOperators.md of onnxruntime.
 */
import { CONTRIB_DOMAIN } from "../domains.ts";
import type { OnnxNode } from "../ir.ts";
import { ATTENTIONS } from "./attention.ts";
import { einsum } from "./einsum.ts";
import type { Expand } from "./expansion.ts";
import { groupQueryAttention } from "./group_query.ts";
import { LAYERS } from "./layers.ts";
import { outerProduct } from "./outer_product.ts";
import { QUANTIZED } from "./quantized.ts";
import { contribRotary, rotary } from "./rotary.ts";
import { TENSOR_SEQUENCES } from "./tensor_sequences.ts";

/** By name. */
export const EXPANSIONS: Readonly<Record<string, Expand>> = {
  ...LAYERS,
  ...ATTENTIONS,
  ...QUANTIZED,
  GroupQueryAttention: groupQueryAttention,
  RotaryEmbedding: contribRotary,
};

/** What ONNX Runtime has in ONNX's own domain as well, in versions of the operator set before these. */
const BEFORE: Readonly<Record<string, number>> = {
  LayerNormalization: 17,
  SimplifiedLayerNormalization: Infinity,
};

/** Of ONNX's own domain; an operator that is not written otherwise in the end stays what it is. */
export const OWN_EXPANSIONS: Readonly<Record<string, Expand>> = {
  Einsum: einsum,
  MatMul: outerProduct,
  RotaryEmbedding: rotary,
};

/** How a node is written in ONNX's own operators; undefined for one that is, or of which nothing is known. */
export function expansionOf(
  { op, domain, version }: OnnxNode,
): Expand | undefined {
  if (domain === "" && Object.hasOwn(OWN_EXPANSIONS, op)) {
    return OWN_EXPANSIONS[op];
  }
  if (domain === "" && Object.hasOwn(TENSOR_SEQUENCES, op)) {
    return TENSOR_SEQUENCES[op];
  }
  const isContrib = domain === CONTRIB_DOMAIN && Object.hasOwn(EXPANSIONS, op);
  const isOld = domain === "" && Object.hasOwn(BEFORE, op) &&
    version < BEFORE[op];
  return isContrib || isOld ? EXPANSIONS[op] : undefined;
}
