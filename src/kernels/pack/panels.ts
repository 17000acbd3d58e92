/**
 * The panel layout all matrix kernels stream (assembly/sweep.ts): panels of 8 columns,
 * each 8 biases followed by K rows of 8 weights. Padding columns are 0.
 */
import { assert } from "../../base/assert.ts";

/** Columns of one panel. */
export const PANEL_COLUMNS = 8;

/** `count` weights of one column: source[start], source[start + stride], ... */
export interface Run {
  source: Float32Array;
  start: number;
  stride: number;
  count: number;
}

/** Where one packed column comes from; its runs follow each other along K. */
export interface Column {
  bias: number;
  runs: readonly Run[];
}

/** Columns of a sweep; undefined is padding. */
export type Columns = readonly (Column | undefined)[];

/** Panels that hold `columns` columns. */
export function panelsFor(columns: number): number {
  return Math.ceil(columns / PANEL_COLUMNS);
}

/** Floats of `panels` packed panels with `k` weights a column. */
export function panelFloats(panels: number, k: number): number {
  return panels * PANEL_COLUMNS * (1 + k);
}

/** Columns 0..count-1 of `column`, padded to whole panels. */
export function paddedColumns(
  count: number,
  column: (j: number) => Column,
): Columns {
  return Array.from(
    { length: panelsFor(count) * PANEL_COLUMNS },
    (_, j) => j < count ? column(j) : undefined,
  );
}

/**
 * Panels of 4 + 4 columns: units u..u+3 of `low`, then the same units of `high`, for
 * every 4 of `count` units.
 */
export function pairedColumns(
  count: number,
  low: (unit: number) => Column,
  high: (unit: number) => Column,
): Columns {
  const half = PANEL_COLUMNS / 2;
  const columns: (Column | undefined)[] = [];
  for (let unit = 0; unit < count; unit += half) {
    for (const gate of [low, high]) {
      for (let lane = 0; lane < half; ++lane) {
        columns.push(unit + lane < count ? gate(unit + lane) : undefined);
      }
    }
  }
  return columns;
}

/** Writes `columns` as panels at `offset` of `out`; returns the offset after them. */
export function writePanels(
  out: Float32Array,
  offset: number,
  columns: Columns,
): number {
  assert(
    columns.length % PANEL_COLUMNS === 0,
    "columns must fill whole panels",
  );
  for (let first = 0; first < columns.length; first += PANEL_COLUMNS) {
    let end = offset;
    for (let lane = 0; lane < PANEL_COLUMNS; ++lane) {
      const column = columns[first + lane];
      if (column === undefined) continue;
      out[offset + lane] = column.bias;
      end = offset + lane + PANEL_COLUMNS;
      for (const { source, start, stride, count } of column.runs) {
        for (
          let i = 0, from = start;
          i < count;
          ++i, from += stride, end += PANEL_COLUMNS
        ) {
          out[end] = source[from];
        }
      }
      end -= lane;
    }
    offset = end;
  }
  return offset;
}
