/** What models that are composed of files are given. */
import { listed } from "../base/describe.ts";
import type { Cell, Port } from "../graph/cell.ts";
import { shapeOf } from "../graph/row_layout.ts";

/** What comes as one cell: a model of `loadOnnx`. */
export interface CellSource {
  /** The cell. */
  whole(): Cell;
}

/** Ports as messages list them. */
export function describePorts(ports: readonly Port[]): string {
  return listed(
    ports.map((port) => `${port.name} ${port.dtype}[${shapeOf(port)}]`),
  );
}
