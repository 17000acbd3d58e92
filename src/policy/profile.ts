/**
 * The offline profile that a policy gets when it is made: what a batch of a cell takes on the device.
 * Source: LazyBatching, section IV-C ("Node-level latency estimation"); DVABatch, section 7.1.
 */
import { describe, listed, shorten } from "../base/describe.ts";
import { checkCurve, type CurvePoints, onCurve } from "../base/curve.ts";
import type { Extent } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";

/**
 * Integer nanoseconds that `rows` rows of `cell` take as one batch.
 * @param extent how much there is of every row, if the cell is ragged or reads caches and it is known
 */
export type Profile = (cell: Cell, rows: number, extent?: Extent) => number;

/** A profile as JSON: points [rows, ns] by cell name, whatever their extent; "*" serves every cell without an entry. */
export type ProfileTable = Readonly<Record<string, CurvePoints>>;

/**
 * @param given a function, a table, or nothing: then every node counts as 0 ns
 * @returns throws RangeError where a function returns what is no time
 * @throws TypeError or RangeError naming policy and cell when the table is not one
 */
export function profileOf(
  policy: string,
  given: Profile | ProfileTable | undefined,
): Profile {
  if (given === undefined) return () => 0;
  if (typeof given === "function") return checkedProfile(policy, given);
  if (typeof given !== "object" || given === null) {
    throw new TypeError(
      `"profile" of policy "${policy}" is a function or a table by cell, got ${
        describe(given)
      }`,
    );
  }
  const tables = new Map(Object.entries(given));
  for (const [cell, points] of tables) {
    checkCurve(
      `cell "${shorten(cell)}" in "profile" of policy "${policy}"`,
      points,
    );
  }
  return (cell, rows) => {
    const points = tables.get(cell.name) ?? tables.get("*");
    if (points === undefined) {
      throw new RangeError(
        `"profile" of policy "${policy}" has no cell "${cell.name}"; it has ${
          listed(tables.keys())
        } (use "*" for any cell)`,
      );
    }
    return Math.round(onCurve(points, rows));
  };
}

/** A caller's function: nothing could be decided by what is no time. */
function checkedProfile(policy: string, given: Profile): Profile {
  return (cell, rows, extent) => {
    const ns = given(cell, rows, extent);
    if (typeof ns === "number" && ns >= 0 && ns < Infinity) return ns;
    throw new RangeError(
      `"profile" of policy "${policy}" is a function that returns nanoseconds, got ${
        describe(ns)
      } for ${rows} rows of cell "${cell.name}"`,
    );
  };
}
