import { finiteNonNegative, ofType } from "../base/checked_options.ts";
import { checkCurve, type CurvePoints, onCurve } from "../base/curve.ts";
import type { Cell } from "../graph/cell.ts";
import type { CostModel } from "./cost_model.ts";

/** Measured points of one cell: batch size and latency in nanoseconds, ascending in size. */
export type CostPoints = CurvePoints;

/** Latency by linear interpolation between measured batch sizes (see `onCurve`). */
export class TableCost implements CostModel {
  readonly #tables: ReadonlyMap<string, CostPoints>;

  /**
   * @param tables points by cell name; the entry "*" serves every cell without one
   * @throws TypeError when these are no tables
   * @throws RangeError when a table is empty, not ascending, or negative
   */
  constructor(tables: Readonly<Record<string, CostPoints>>) {
    ofType("object")("tables", tables);
    for (const [cell, points] of Object.entries(tables)) {
      checkCurve(`cell "${cell}"`, points);
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
    return Math.round(onCurve(points, rows));
  }
}

/**
 * Every batch of every cell takes the same time, as in the papers' worked examples.
 * @throws RangeError on what is no time
 */
export function constantCost(latencyNs: number): CostModel {
  finiteNonNegative("latencyNs", latencyNs);
  return { latencyNs: () => latencyNs };
}
