import { describe } from "../../base/describe.ts";
import type { Cell } from "../../graph/cell.ts";

/**
 * Nanoseconds as a caller's function returned them for a batch: virtual time could not go on by what is none.
 * @param name of the function
 * @throws RangeError naming function, value and batch, unless it is a number, finite and at least 0
 */
export function checkedNs(
  name: "latencyNs" | "htodNs" | "dtohNs" | "submitNs",
  ns: number,
  cell: Cell,
  rows: number,
): number {
  if (typeof ns === "number" && ns >= 0 && ns < Infinity) return ns;
  throw new RangeError(
    `"${name}" is a function that returns nanoseconds, got ${
      describe(ns)
    } for ${rows} rows of cell "${cell.name}"`,
  );
}
