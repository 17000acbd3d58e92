import type { Extents } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import type { CostModel } from "./cost_model.ts";

/**
 * Costs on a device whose slots share its capacity, a GPU with concurrent streams: `latencyNs` is the
 * time alone. Copies in and out take their engines' time, not the capacity.
 */
export interface SharedCost extends CostModel {
  /** Share of the device that a batch fills when it runs alone, from 0, as if workers had a device each, to 1. */
  demand(cell: Cell, rows: number, extents?: Extents): number;
  /**
   * Factor by which everything takes longer while this many batches run beside each other, over and above
   * what their demands say: what streams cost each other. 1 for one batch; default: 1.
   */
  interference?(batches: number): number;
  /** Time of the copies to the device before the batch, ns; default 0. */
  htodNs?(cell: Cell, rows: number): number;
  /** Time of the copies from the device after the batch, ns; default 0. */
  dtohNs?(cell: Cell, rows: number): number;
}

export function isShared(cost: CostModel): cost is SharedCost {
  return (cost as Partial<SharedCost>).demand !== undefined;
}
