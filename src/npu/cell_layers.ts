/**
 * A cell's operators as layers, for a batch of `rows`.
 *
 * Assumption: values between the operators of a cell stay on chip (a cell is launched as one), so
 * elementwise operators cost vector work only; GEMMs read their rows and write their results. Moves
 * of rows (Concat, Slice) are addressing and cost nothing; a Constant is a weight.
 */
import type { Cell } from "../graph/cell.ts";
import type { Operator } from "../graph/operator.ts";
import { positiveInteger } from "./checks.ts";
import type { LayerSpec } from "./layer_spec.ts";
import type { CostContext, Costs } from "./operators/costs.ts";
import { dense } from "./operators/dense.ts";
import { elementwise } from "./operators/elementwise.ts";
import { recurrent } from "./operators/recurrent.ts";
import { rows as rowMoves } from "./operators/rows.ts";

const COSTS: Costs<Operator> = {
  ...dense,
  ...recurrent,
  ...elementwise,
  ...rowMoves,
};

/** The layers of a cell, in the order of its operators. Throws RangeError for a batch below 1. */
export function cellLayers(cell: Cell, rows: number): LayerSpec[] {
  positiveInteger(rows, "batch (rows)");
  return cell.operators.flatMap((operator, i) => {
    const layers = COSTS[operator.op] as (
      operator: Operator,
      context: CostContext,
    ) => LayerSpec[];
    return layers(operator, {
      name: `${cell.name}.${i}.${operator.op}`,
      rows,
      cell,
    });
  });
}
