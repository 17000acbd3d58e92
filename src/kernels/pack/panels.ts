/**
 * The panel layout all matrix kernels stream (assembly/sweep.ts): panels of 8 columns,
 * each 8 biases followed by K rows of 8 weights. Padding columns are 0. A long K lies in
 * pieces (assembly/pieces.ts), save in the weights of convolutions.
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

/** How weights of one K lie: groups of panels, each their biases and then piece after piece of K. */
export interface Pieces {
  /** Panels of a group; the last may have fewer. */
  readonly panels: number;
  /** Steps of K in a piece; the last is filled up with zeros. */
  readonly steps: number;
}

/** Whole panels, one after the other. */
export function wholePanels(k: number): Pieces {
  return { panels: 1, steps: k };
}

/** Panels up to this K are whole. */
const WHOLE_STEPS = 640;
/** Steps of a piece, multiples of 8. */
const PIECE_LEAST = 192;
const PIECE_MOST = 320;
const GROUP_PANELS = 16;

/** Panels of a group in the weights of products and cells. */
export function groupPanels(k: number): number {
  return k <= WHOLE_STEPS ? 1 : GROUP_PANELS;
}

/** As the kernels of products and cells take weights. */
export function piecesOf(k: number): Pieces {
  const panels = groupPanels(k);
  if (panels === 1) return wholePanels(k);
  let steps = 0;
  let least = Infinity;
  for (
    let pieces = Math.ceil(k / PIECE_MOST);
    pieces <= k / PIECE_LEAST;
    pieces++
  ) {
    const some = 8 * Math.ceil(k / pieces / 8);
    const filled = some * pieces - k;
    if (filled < least) {
      least = filled;
      steps = some;
    }
  }
  return { panels, steps };
}

/** Floats of `panels` panels in pieces. */
export function piecedFloats(panels: number, k: number): number {
  const { steps } = piecesOf(k);
  return panelFloats(panels, k === 0 ? 0 : steps * Math.ceil(k / steps));
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

/** Writes `columns` as panels at `offset` of `out`, which is 0 there, as `layout` says; returns the offset after them. */
export function writePanels(
  out: Float32Array,
  offset: number,
  columns: Columns,
  layout: (k: number) => Pieces,
): number {
  assert(
    columns.length % PANEL_COLUMNS === 0,
    "columns must fill whole panels",
  );
  const k = columns[0]?.runs.reduce((sum, { count }) => sum + count, 0) ?? 0;
  const { panels, steps } = layout(k);
  const pieces = k === 0 ? 0 : Math.ceil(k / steps);
  const most = panels * PANEL_COLUMNS;
  for (let first = 0; first < columns.length; first += most) {
    const group = columns.slice(first, first + most);
    writeGroup(out, offset, group, steps);
    offset += group.length * (1 + pieces * steps);
  }
  return offset;
}

/** Writes one group of panels. */
function writeGroup(
  out: Float32Array,
  offset: number,
  columns: Columns,
  steps: number,
): void {
  const weights = offset + columns.length;
  const piece = columns.length * steps;
  columns.forEach((column, j) => {
    if (column === undefined) return;
    out[offset + j] = column.bias;
    const lane = j % PANEL_COLUMNS;
    let at = weights + (j - lane) * steps + lane;
    let left = steps;
    for (const { source, start, stride, count } of column.runs) {
      for (let i = 0, from = start; i < count; ++i, from += stride) {
        if (left === 0) {
          at += piece - steps * PANEL_COLUMNS;
          left = steps;
        }
        out[at] = source[from];
        at += PANEL_COLUMNS;
        left--;
      }
    }
  });
}
