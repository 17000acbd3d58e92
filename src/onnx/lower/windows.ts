/** Pieces of signals that overlap, or lie apart. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import { elementCount, tensor } from "../../tensor/tensor.ts";
import { MADE_ELEMENTS_MAX } from "./operand.ts";

/** So many zeros for each row of a value, as a piece of it. */
export function zerosBeside(op: Operators, x: Value, count: number): Value {
  const shape = axesOf(x).with(-1, count);
  return op.Constant(tensor(shape, new Float32Array(elementCount(shape))));
}

/** The last axis cut off, or filled up with zeros. */
export function fitted(op: Operators, x: Value, size: number): Value {
  const have = axesOf(x).at(-1)!;
  if (have >= size) return have === size ? x : op.Slice(x, 0, size);
  return op.Concat(x, zerosBeside(op, x, size - have));
}

/**
 * @param signal [batch][samples]
 * @param size samples of a window, at most those of the signal
 * @param step samples from the beginning of one to that of the next
 * @returns [batch][windows][size], as many as fit; undefined where they take more than may be made
 */
export function windowsOf(
  op: Operators,
  signal: Value,
  { size, step }: { size: number; step: number },
): Value | undefined {
  const [batch, samples] = axesOf(signal);
  const count = 1 + Math.floor((samples - size) / step);
  const pieces = Math.ceil(size / step);
  const length = (count + pieces - 1) * step;
  if (batch * length > MADE_ELEMENTS_MAX) return undefined;
  // Piece i of all windows is what lies i steps behind their beginnings.
  const whole = fitted(op, signal, length);
  return op.Concat(...Array.from({ length: pieces }, (_, i) => {
    const from = op.Slice(whole, i * step, (i + count) * step);
    return fitted(
      op,
      op.Reshape(from, [batch, count, step]),
      Math.min(step, size - i * step),
    );
  }));
}
