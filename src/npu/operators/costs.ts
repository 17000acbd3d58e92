import type { Extent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import type { ByOperator, Operator } from "../../graph/operator.ts";
import type { LayerSpec, VectorWork } from "../layer_spec.ts";

/** What an operator's cost depends on besides itself. */
export interface CostContext {
  /** Name of the operator's layer. */
  readonly name: string;
  /** Rows of the batch; of a ragged cell, its tokens. */
  readonly rows: number;
  readonly cell: Cell;
}

/** Of the operators whose work depends on how far a row looks back: the layers of `count` rows of one extent. */
export type RowCosts<Family extends Operator> = ByOperator<
  Family,
  [{ readonly name: string; readonly extent: Extent; readonly count: number }],
  LayerSpec[]
>;

/** The layers of the operators of a family. */
export type Costs<Family extends Operator> = ByOperator<
  Family,
  [CostContext],
  LayerSpec[]
>;

/** Work of the vector unit on values that stay on chip. */
export function vectorLayer(
  name: string,
  vector: readonly VectorWork[],
): LayerSpec {
  return { name, gemms: [], vector, extraReadWords: 0, extraWriteWords: 0 };
}
