/**
 * The order in which a SCALE-Sim read buffer fetches an operand: a matrix with the array's ports as
 * columns and the folds along the ports stacked below each other, unused ports empty. A resident
 * operand is fetched row by row, a streamed one along anti-diagonals, bottom left to top right.
 */
import type { FoldGrid } from "../dataflow.ts";
import { type AddressMatrix, NO_ADDRESS } from "./addresses.ts";

export function fetchOrder(
  operand: "ifmap" | "filter",
  { grid, addresses }: { grid: FoldGrid; addresses: AddressMatrix },
): Int32Array {
  const isLeft = operand === grid.mapping.left;
  const ports = isLeft ? grid.array.rows : grid.array.cols;
  const portExtent = isLeft ? grid.sr : grid.sc;
  const streamed = isLeft || !grid.mapping.topResident;
  const length = streamed ? grid.t : grid.sr;
  const rows = length * (isLeft ? grid.rowFolds : grid.colFolds);
  const portAxis = isLeft ? grid.mapping.rows : grid.mapping.cols;
  const portIsFirst = addresses.axes[0] === portAxis;
  const portTerm = portIsFirst ? addresses.first : addresses.second;
  const otherTerm = portIsFirst ? addresses.second : addresses.first;

  const wordAt = (row: number, column: number): number => {
    const fold = Math.floor(row / length);
    const port = fold * ports + column;
    if (port >= portExtent) return NO_ADDRESS;
    const other = row - fold * length;
    const onMap = addresses.onMap === undefined ||
      (portIsFirst
        ? addresses.onMap(port, other)
        : addresses.onMap(other, port));
    return onMap ? portTerm[port] + otherTerm[other] : NO_ADDRESS;
  };

  const order = new Int32Array(rows * ports);
  let at = 0;
  if (!streamed) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < ports; column++) {
        order[at++] = wordAt(row, column);
      }
    }
    return order;
  }
  for (let diagonal = 0; diagonal < rows + ports - 1; diagonal++) {
    const bottom = Math.min(diagonal, rows - 1);
    const top = Math.max(0, diagonal - ports + 1);
    for (let row = bottom; row >= top; row--) {
      order[at++] = wordAt(row, diagonal - row);
    }
  }
  return order;
}
