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

/** What a row of the cell is like in such a request; fewer tokens where the cell takes fewer. */
export function typicalExtent(
  { tokensMax, caches }: Cell,
  { tokens, steps = tokens }: TypicalRequest,
): Extent {
  const ragged = tokensMax !== undefined;
  return {
    length: ragged ? Math.min(tokens, tokensMax) : 1,
    caches: caches.map(({ appends, positionsMax }) => ({
      seen: Math.min(appends && !ragged ? steps : tokens, positionsMax),
    })),
  };
}

/**
 * A cost model as the profile that policies are made with; what they ask without saying how long rows are
 * (DVABatch, when it slices a model) is answered for a typical request.
 */
export function typicalProfile(
  cost: CostModel,
  request: TypicalRequest,
): (cell: Cell, rows: number, extent?: Extent) => number {
  return (cell, rows, extent = typicalExtent(cell, request)) =>
    cost.latencyNs(cell, rows, extent);
}
