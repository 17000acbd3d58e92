/**
 * Model slicing: a model's cells, in topological order, cut into stages.
 * Source: DVABatch, section 7.1 ("Identifying Diversities and Slicing Models").
 */
import type { Cell } from "../../graph/cell.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Model } from "../../graph/model.ts";
import type { Profile } from "../profile.ts";

/** Adjacent cells of a model, in order, that an executor runs without interruption. */
export type Stage = readonly Cell[];

/**
 * Batch sizes at which operators are profiled (section 7.1).
 */
export const PROFILED_SIZES: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

/**
 * Time of cells at a batch size, each executed once, ns.
 * Assumption: so is a cell that recurs, as how often is the request's; the paper's networks have none.
 */
export function durationNs(
  cells: readonly Cell[],
  rows: number,
  profile: Profile,
): number {
  let ns = 0;
  for (const cell of cells) ns += profile(cell, rows);
  return ns;
}

/**
 * A model's cells, in pieces that no cut goes through: what grows repeats as one.
 */
function uncut({ cells }: Model): Cell[][] {
  const growing = growingCells(cells);
  const pieces: Cell[][] = [];
  for (const cell of cells) {
    if (growing.includes(cell) && cell !== growing[0]) {
      pieces[pieces.length - 1].push(cell);
    } else pieces.push([cell]);
  }
  return pieces;
}

/**
 * Cuts where the time so far comes closest to equal shares.
 * Assumption: time at the largest batch size; a profile of zeros counts cells.
 * @returns at most `count` stages, none empty
 */
export function timeEven(
  model: Model,
  count: number,
  profile: Profile,
  rows: number,
): Stage[] {
  const { cells } = model;
  const pieces = uncut(model);
  const measured = durationNs(cells, rows, profile);
  const timeOf = (piece: readonly Cell[]) =>
    measured > 0 ? durationNs(piece, rows, profile) : 1;
  const share = (measured > 0 ? measured : pieces.length) / count;
  const stages: Cell[][] = [[]];
  let before = 0;
  pieces.forEach((piece, i) => {
    const middle = before + timeOf(piece) / 2;
    const current = stages[stages.length - 1];
    const left = pieces.length - i;
    const isDue = middle >= share * stages.length ||
      left <= count - stages.length;
    if (current.length > 0 && stages.length < count && isDue) {
      stages.push([...piece]);
    } else for (const cell of piece) current.push(cell);
    before += timeOf(piece);
  });
  return stages;
}

/**
 * Cells' preferred batch size: the smallest profiled one beyond which a row gets no cheaper.
 * Source: section 1 ("the smallest batch size that fully utilizes the current GPU"), Fig. 5.
 * Assumption: no cheaper means by less than 5 %.
 */
export function preferredBatchSize(
  cells: readonly Cell[],
  profile: Profile,
): number {
  const perRow = (rows: number) => durationNs(cells, rows, profile) / rows;
  const best = Math.min(...PROFILED_SIZES.map(perRow));
  return PROFILED_SIZES.find((rows) => perRow(rows) <= 1.05 * best)!;
}

/** Cuts between cells of different preferred batch sizes. */
export function atPreferredSizes(model: Model, profile: Profile): Stage[] {
  const stages: Cell[][] = [];
  let before: number | undefined;
  for (const piece of uncut(model)) {
    const preferred = preferredBatchSize(piece, profile);
    if (preferred === before) {
      for (const cell of piece) stages[stages.length - 1].push(cell);
    } else stages.push([...piece]);
    before = preferred;
  }
  return stages;
}
