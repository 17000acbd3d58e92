/**
 * Values that are made only to be put together: whoever makes them writes them where they belong, in the row that they
 * become a part of, and nothing is copied.
 */
import type { Cell } from "../../graph/cell.ts";
import type { Operator, Value } from "../../graph/operator.ts";
import { rowBytes, rowsOf } from "../../graph/row_layout.ts";

/** A part of another value's row. */
export interface PartOf {
  readonly whole: Value;
  /** From the row's beginning. */
  readonly bytes: number;
}

/**
 * Where values may be written, by their ids, unless they have a place of their own. One that is computed nowhere, a
 * slice of another row for instance, is still to be copied; so is one that is a part of several rows, but for the last.
 * @param leaves whether a value is written where it leaves the cell
 */
export function partsInPlace(
  { operators }: Cell,
  leaves: (value: Value) => boolean,
): ReadonlyMap<number, PartOf> {
  const parts = new Map<number, PartOf>();
  const claim = (part: Value, whole: Value, bytes: number) => {
    if (!parts.has(part.id)) parts.set(part.id, { whole, bytes });
  };
  // Wholes before their parts.
  for (const operator of operators.toReversed()) {
    const [out] = operator.outputs;
    if (isSameRow(operator)) {
      if (leaves(out) || parts.has(out.id)) claim(operator.inputs[0], out, 0);
    } else if (operator.op === "Concat" && !out.image && rowsOf(out) === 1) {
      let bytes = 0;
      for (const part of operator.inputs) {
        claim(part, out, bytes);
        bytes += rowBytes(part);
      }
    }
  }
  return parts;
}

/** Whether what comes out is what went in, by another name. */
export function isSameRow({ op, inputs }: Operator): boolean {
  return op === "Reshape" || (op === "Concat" && inputs.length === 1);
}
