import type { Model } from "../../graph/model.ts";
import { usesBytes } from "../../graph/operators/quantized.ts";
import {
  BLOCKS,
  type Variants,
  WHOLE_DOTS,
} from "../../kernels/module/scratch.ts";

/** Variants of kernels that models may gain by. */
export function variantsFor(models: readonly Model[]): Variants {
  const isOfBytes = models.some(({ cells }) => cells.some(usesBytes));
  return (BLOCKS | (isOfBytes ? WHOLE_DOTS : 0)) as Variants;
}
