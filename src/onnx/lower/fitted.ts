/** Rows of another length: zeros behind them, or less of them. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import { elementCount, tensor } from "../../tensor/tensor.ts";

/** The last axis cut off, or filled up with zeros: behind it, or as many as given in front. */
export function fitted(
  op: Operators,
  x: Value,
  size: number,
  inFront = 0,
): Value {
  const have = axesOf(x).at(-1)!;
  if (have >= size) return have === size ? x : op.Slice(x, 0, size);
  const zeros = (count: number) => {
    if (count === 0) return [];
    const shape = axesOf(x).with(-1, count);
    const data = new Float32Array(elementCount(shape));
    return [op.Constant(tensor(shape, data))];
  };
  return op.Concat(...zeros(inFront), x, ...zeros(size - have - inFront));
}
