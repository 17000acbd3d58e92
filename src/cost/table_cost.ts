import { finiteNonNegative, ofType } from "../base/checked_options.ts";
import { checkCurve, type CurvePoints, onCurve } from "../base/curve.ts";
import type { Cell } from "../graph/cell.ts";
import type { CostModel } from "./cost_model.ts";

/**
 * Latency by linear interpolation between measured batch sizes; below the first one its latency, beyond the last one
 * in proportion to the rows.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { TableCost } from "@shoal/core/simulate";
 *
 * const cost = new TableCost({
 *   lstm_step: [[1, 20_000], [64, 83_000]],
 *   "*": [[1, 5_000]],
 * });
 * const { cells: [step, head] } = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
 * assert.equal(cost.latencyNs(step, 2), 21_000);
 * assert.equal(cost.latencyNs(head, 2), 10_000);
 * ```
 */
export class TableCost implements CostModel {
  readonly #tables: ReadonlyMap<string, CurvePoints>;

  /**
   * Costs of the cells that are in the tables.
   * @param tables points [rows, ns] by cell name; the entry "*" serves every cell without one
   * @throws TypeError when these are no tables
   * @throws RangeError when a table is empty, not ascending, negative, or not finite
   */
  constructor(tables: Readonly<Record<string, CurvePoints>>) {
    ofType("object")("tables", tables);
    for (const [cell, points] of Object.entries(tables)) {
      checkCurve(`cell "${cell}"`, points);
    }
    this.#tables = new Map(Object.entries(tables));
  }

  /**
   * Integer nanoseconds of a batch; the table knows no extents.
   * @throws RangeError when there is no table for the cell
   */
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
 * @param latencyNs at least 0
 * @throws RangeError on what is no time
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { constantCost } from "@shoal/core/simulate";
 *
 * const [step] = lstm({ hidden: 4, vocabulary: 10 }).cells;
 * assert.equal(constantCost(1000).latencyNs(step, 64), 1000);
 * ```
 */
export function constantCost(latencyNs: number): CostModel {
  finiteNonNegative("latencyNs", latencyNs);
  return { latencyNs: () => latencyNs };
}
