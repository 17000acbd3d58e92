import type { Cell } from "./cell.ts";

/**
 * The cells that a growing graph repeats, in order: those of phase "decoder", of which the last has the
 * stop rule. Empty for a model whose graphs do not grow.
 */
export function growingCells(cells: readonly Cell[]): readonly Cell[] {
  return cells.some(({ stop }) => stop)
    ? cells.filter(({ phase, stop }) => phase === "decoder" || stop)
    : [];
}
