import type { Extent } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import type { CostModel } from "./cost_model.ts";

/** What a request is like, for those who plan before they know it. */
export interface TypicalRequest {
  /** Tokens of its input. */
  readonly tokens: number;
  /** Steps that its decoder has taken; default: `tokens`. */
  readonly steps?: number;
}

/**
 * A cost model as the profile that policies are made with; what they ask without saying how long rows are
 * (DVABatch, when it slices a model) is answered for a typical request.
 */
export function typicalProfile(
  cost: CostModel,
  { tokens, steps = tokens }: TypicalRequest,
): (cell: Cell, rows: number, extent?: Extent) => number {
  const typical = (cell: Cell): Extent => {
    const ragged = cell.tokensMax !== undefined;
    return {
      length: ragged ? tokens : 1,
      caches: cell.caches.map(({ appends }) => ({
        seen: appends && !ragged ? steps : tokens,
      })),
    };
  };
  return (cell, rows, extent = typical(cell)) =>
    cost.latencyNs(cell, rows, extent);
}
