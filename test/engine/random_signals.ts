/** Fourier transforms in random cells. */
import type { Operators } from "../../src/graph/cell_builder.ts";
import type { SignalOperator, Value } from "../../src/graph/operator.ts";

/** Values of cells are short: one is taken again and again, and made smaller, as sums of many grow. */
export function applySignalOperator(
  op: Operators,
  value: Value,
  draw: { op: SignalOperator["op"]; b: number; size: number },
): Value {
  const rows = 1 + draw.size % 2;
  const isForward = draw.op === "RFFT";
  const n = 32 << draw.b % 3;
  const shape = isForward ? [rows, n] : [rows, 2, n / 2 + 1];
  const width = shape.reduce((product, size) => product * size);
  const row = op.Reshape(value, [value.width]);
  const times = Math.ceil(width / row.width);
  const wide = op.Slice(
    op.Concat(...Array.from({ length: times }, () => row)),
    0,
    width,
  );
  const small = op.Mul(wide, op.Constant([1 / 16]));
  return op[draw.op](op.Reshape(small, shape));
}
