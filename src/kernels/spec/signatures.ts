/** Signatures of all kernels. */
import type { KernelName, Signatures, Sizes } from "./signature.ts";
import { CELLS, unitsFit } from "./cells.ts";
import { IMAGES } from "./images.ts";
import { MATRICES } from "./matrices.ts";
import { ROWS } from "./rows.ts";

/** By export. */
export const SIGNATURES: Signatures<KernelName> = {
  ...MATRICES,
  ...CELLS,
  ...IMAGES,
  ...ROWS,
};

/** What a signature cannot say of one argument alone: a complaint, or undefined. */
export const RELATIONS: Partial<
  Record<KernelName, (sizes: Sizes) => string | undefined>
> = {
  lstm_units_f32: unitsFit,
  gru_units_f32: unitsFit,
  tree_leaf_units_f32: unitsFit,
  tree_internal_units_f32: unitsFit,
  attention_f32: ({ heads, kvHeads }) =>
    heads! % kvHeads! === 0
      ? undefined
      : `${kvHeads} key-value heads do not divide ${heads} heads: give every key-value head the same number of heads`,
  topk_rows_f32: ({ n, k }) =>
    k! <= n!
      ? undefined
      : `k is ${k}, rows have ${n} elements: ask for at most ${n}`,
};
