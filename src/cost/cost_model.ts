import type { Cell } from "../graph/cell.ts";

/** What a batch costs on a device: the only thing a simulated run knows of hardware. */
export interface CostModel {
  /** Integer nanoseconds to execute `rows` rows of `cell` as one batch. */
  latencyNs(cell: Cell, rows: number): number;
}
