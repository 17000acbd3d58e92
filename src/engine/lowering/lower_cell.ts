/**
 * Compiles a cell's operators to kernel calls. What the kernels fuse is fused: Gemm with a following
 * activation, Gemm with ArgMax (no logits are stored unless someone else reads them), Concat into the
 * two segments of a Gemm, convolutions with what convEpilogue() says. Values that leave the cell are written straight into the request's slot.
 */
import type { Cell } from "../../graph/cell.ts";
import type { Operator } from "../../graph/operator.ts";
import type { CellProgram } from "./cell_program.ts";
import { attention } from "./attention.ts";
import { dense } from "./dense.ts";
import { elementwise } from "./elementwise.ts";
import { images } from "./images.ts";
import { Lowering, type Lowerings, type PlaceConstant } from "./lowering.ts";
import { plain } from "./plain.ts";
import { quantized } from "./quantized.ts";
import { recurrent } from "./recurrent.ts";
import { rows } from "./rows.ts";
import { signals } from "./signals.ts";

const LOWERINGS: Lowerings<Operator> = {
  ...dense,
  ...recurrent,
  ...elementwise,
  ...attention,
  ...rows,
  ...signals,
  ...images,
  ...quantized,
  ...plain,
};

export function lowerCell(cell: Cell, place: PlaceConstant): CellProgram {
  const lowering = new Lowering(cell, place);
  return lowering.program((operator) => {
    const lower = LOWERINGS[operator.op] as (
      operator: Operator,
      lowering: Lowering,
    ) => void;
    lower(operator, lowering);
  });
}
