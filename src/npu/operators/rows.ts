import type { RowOperator } from "../../graph/operator.ts";
import type { Costs } from "./costs.ts";

/** Moves of rows are addressing and cost nothing; a Constant is a weight. */
export const rows: Costs<RowOperator> = {
  Concat: () => [],
  Slice: () => [],
  Reshape: () => [],
  Transpose: () => [],
  Constant: () => [],
};
