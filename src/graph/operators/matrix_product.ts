import { elementCount, isShape } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { Value } from "../operator.ts";
import { axesOf, shapeOf } from "../row_layout.ts";

/**
 * Sizes of the product of two values of a request, a [.., m, k] and b [.., k, n], or [.., n, k] if transposed; axes in
 * front (`before`) are the same, or b has none.
 * @throws RangeError when they do not fit
 */
export function matrixProduct(
  body: CellBody,
  op: string,
  [a, b]: readonly [Value, Value],
  transposed: boolean,
): { m: number; n: number; k: number; before: readonly number[] } {
  const [left, right] = [axesOf(a), axesOf(b)];
  const [m, k] = left.slice(-2);
  const [rows, columns] = right.slice(-2);
  const [n, sum] = transposed ? [rows, columns] : [columns, rows];
  const [before, batch] = [left.slice(0, -2), right.slice(0, -2)];
  body.expect(
    !a.image && !b.image && left.length >= 2 && right.length >= 2 &&
      sum === k && (elementCount(batch) === 1 || isShape(batch, before)),
    `${op} of ${shapeOf(a)} and ${shapeOf(b)}${
      transposed ? ", transposed" : ""
    }`,
  );
  return { m, n, k, before };
}
