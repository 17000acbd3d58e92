import type { Cell } from "../graph/cell.ts";
import { cellLayers } from "../npu/cell_layers.ts";
import type { Npu } from "../npu/npu.ts";
import type { CostModel } from "./cost_model.ts";

/** Latencies of a modelled NPU, computed once per cell and batch size. */
export class NpuCost implements CostModel {
  readonly #npu: Npu;
  readonly #known = new WeakMap<Cell, Map<number, number>>();

  constructor(npu: Npu) {
    this.#npu = npu;
  }

  /** @throws RangeError when `rows` is not a positive integer, or the cell does not fit the machine */
  latencyNs(cell: Cell, rows: number): number {
    let byRows = this.#known.get(cell);
    if (byRows === undefined) this.#known.set(cell, byRows = new Map());
    let ns = byRows.get(rows);
    if (ns === undefined) {
      ns = this.#npu.latencyNs(cellLayers(cell, rows));
      byRows.set(rows, ns);
    }
    return ns;
  }
}
