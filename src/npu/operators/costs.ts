import type { Extent } from "../../graph/cache.ts";
import type { CellUses } from "../../graph/cell_uses.ts";
import type { ByOperator, Operator } from "../../graph/operator.ts";
import type { LayerSpec, VectorWork } from "../layer_spec.ts";

/** What an operator's cost depends on besides itself. */
export interface CostContext {
  /** Name of the operator's layer. */
  readonly name: string;
  /** Rows of the batch; of a ragged cell, its tokens. */
  readonly rows: number;
  readonly uses: CellUses;
  /** The layer does the work of another operator too, which then costs nothing by itself. */
  absorb(operator: Operator): void;
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
