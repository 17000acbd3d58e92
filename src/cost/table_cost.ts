import type { Cell } from "../graph/cell.ts";
import type { CostModel } from "./cost_model.ts";

/** Measured points of one cell: batch size and latency, ascending in both. */
export type CostPoints =
  readonly (readonly [rows: number, latencyNs: number])[];

/**
 * Latency by linear interpolation between measured batch sizes; below the first point its latency,
 * beyond the last one its latency per row times the rows (a device that is full).
 */
export class TableCost implements CostModel {
  readonly #tables: ReadonlyMap<string, CostPoints>;

  /**
   * @param tables points by cell name; the entry "*" serves every cell without one
   * @throws RangeError when a table is empty, not ascending, or negative
   */
  constructor(tables: Readonly<Record<string, CostPoints>>) {
    for (const [cell, points] of Object.entries(tables)) {
      if (points.length === 0) {
        throw new RangeError(`The cost table of cell "${cell}" is empty`);
      }
      let before = 0;
      for (const [rows, latencyNs] of points) {
        if (!Number.isInteger(rows) || rows <= before) {
          throw new RangeError(
            `The cost table of cell "${cell}" lists ${rows} rows after ${before}; sizes ascend from 1`,
          );
        }
        if (!(latencyNs >= 0)) {
          throw new RangeError(
            `The cost table of cell "${cell}" has latency ${latencyNs} ns`,
          );
        }
        before = rows;
      }
    }
    this.#tables = new Map(Object.entries(tables));
  }

  latencyNs(cell: Cell, rows: number): number {
    const points = this.#tables.get(cell.name) ?? this.#tables.get("*");
    if (points === undefined) {
      throw new RangeError(
        `No cost for cell "${cell.name}"; the table has ${
          [...this.#tables.keys()].join(", ")
        } (use "*" for any cell)`,
      );
    }
    const last = points[points.length - 1]!;
    if (rows >= last[0]) return Math.round(last[1] * rows / last[0]);
    if (rows <= points[0]![0]) return Math.round(points[0]![1]);
    const above = points.findIndex(([size]) => size >= rows);
    const [size0, ns0] = points[above - 1]!;
    const [size1, ns1] = points[above]!;
    return Math.round(ns0 + (ns1 - ns0) * (rows - size0) / (size1 - size0));
  }
}

/** Every batch of every cell takes the same time, as in the papers' worked examples. */
export function constantCost(latencyNs: number): CostModel {
  return { latencyNs: () => latencyNs };
}
