/**
 * A cell's operators as layers, for a batch of `rows`, or of all tokens of rows that are ragged.
 *
 * Assumption: values between the operators of a cell stay on chip (a cell is launched as one), so
 * elementwise operators cost vector work only; GEMMs read their rows and write their results. Moves
 * of rows (Concat, Slice) are addressing and cost nothing; a Constant is a weight.
 */
import type { Extent } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import type { Operator } from "../graph/operator.ts";
import { positiveInteger } from "./checks.ts";
import type { LayerSpec } from "./layer_spec.ts";
import { attention, attentionByRow } from "./operators/attention.ts";
import type { CostContext, Costs } from "./operators/costs.ts";
import { dense } from "./operators/dense.ts";
import { elementwise } from "./operators/elementwise.ts";
import { recurrent } from "./operators/recurrent.ts";
import { rows as rowMoves } from "./operators/rows.ts";

const ROW_COSTS = attentionByRow;

const COSTS: Costs<Exclude<Operator, { op: keyof typeof ROW_COSTS }>> = {
  ...dense,
  ...recurrent,
  ...elementwise,
  ...attention,
  ...rowMoves,
};

/** The layers of a cell, in the order of its operators. Throws RangeError for a batch below 1. */
export function cellLayers(
  cell: Cell,
  rows: number,
  extents?: readonly Extent[],
): LayerSpec[] {
  positiveInteger(rows, "batch (rows)");
  const { given, tokens } = checkExtents(cell, rows, extents);
  return cell.operators.flatMap((_, i) => [
    ...operatorLayers(cell, i, tokens),
    ...given.flatMap((extent) => rowLayers(cell, i, extent)),
  ]);
}

/** The layers of a cell that depend on the rows, or tokens, of a batch only. */
export function batchLayers(cell: Cell, tokens: number): LayerSpec[] {
  return cell.operators.flatMap((_, i) => operatorLayers(cell, i, tokens));
}

/** The layers that one row adds to those of the batch: attention. */
export function extentLayers(cell: Cell, extent: Extent): LayerSpec[] {
  return cell.operators.flatMap((_, i) => rowLayers(cell, i, extent));
}

/**
 * Extents of a batch and its tokens.
 * @throws RangeError when the cell's cost depends on extents and there is not one for every row
 */
export function checkExtents(
  cell: Cell,
  rows: number,
  extents?: readonly Extent[],
): { given: readonly Extent[]; tokens: number } {
  if (extents === undefined) {
    const depends = cell.tokensMax !== undefined ||
      cell.operators.some(({ op }) => op in ROW_COSTS);
    if (!depends) return { given: [], tokens: rows };
  } else if (extents.length === rows) {
    const tokens = extents.reduce((sum, { length }) => sum + length, 0);
    return { given: extents, tokens };
  }
  throw new RangeError(
    `The cost of cell "${cell.name}" depends on the lengths of its rows: ${
      extents?.length ?? "no"
    } lengths were given for ${rows} rows`,
  );
}

function operatorLayers(cell: Cell, i: number, tokens: number): LayerSpec[] {
  const operator = cell.operators[i];
  if (operator.op in ROW_COSTS) return [];
  const layers = COSTS[operator.op as keyof typeof COSTS] as (
    operator: Operator,
    context: CostContext,
  ) => LayerSpec[];
  return layers(operator, { name: nameOf(cell, i), rows: tokens, cell });
}

function rowLayers(cell: Cell, i: number, extent: Extent): LayerSpec[] {
  const operator = cell.operators[i];
  if (!(operator.op in ROW_COSTS)) return [];
  const layers = ROW_COSTS[operator.op as keyof typeof ROW_COSTS] as (
    operator: Operator,
    context: { name: string; extent: Extent },
  ) => LayerSpec[];
  return layers(operator, { name: nameOf(cell, i), extent });
}

function nameOf({ name, operators }: Cell, i: number): string {
  return `${name}.${i}.${operators[i].op}`;
}
