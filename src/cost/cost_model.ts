import type { Extents } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";

/**
 * What a batch costs on a device: the only thing a simulated run knows of hardware. One with a `demand` is a
 * SharedCost.
 */
export interface CostModel {
  /**
   * Integer nanoseconds, finite and at least 0, to execute `rows` rows of `cell` as one batch, padding included.
   * @param extents how much there is of every row; for ragged cells and those that read caches
   * @param worker that executes it, where workers differ
   */
  latencyNs(
    cell: Cell,
    rows: number,
    extents?: Extents,
    worker?: number,
  ): number;
}
