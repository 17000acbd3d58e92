/** What models that are composed of files are given. */
import { withMethods } from "../base/checked_options.ts";
import { listed } from "../base/describe.ts";
import type { Cell, Port } from "../graph/cell.ts";
import { shapeOf } from "../graph/row_layout.ts";

/** What comes as one cell: a model of `loadOnnx`. */
export interface CellSource {
  /** The cell. */
  whole(): Cell;
}

/** A file, rather than a promise of one or a path. */
export const cellSource = withMethods("what loadOnnx() resolves to", ["whole"]);

/** Ports as messages list them. */
export function describePorts(ports: readonly Port[]): string {
  return listed(
    ports.map((port) => `${port.name} ${port.dtype}[${shapeOf(port)}]`),
  );
}
