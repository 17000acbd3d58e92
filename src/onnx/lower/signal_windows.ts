/** Windows of signals, which overlap or lie apart. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import { fitted } from "./fitted.ts";
import { MADE_ELEMENTS_MAX } from "./operand.ts";

/**
 * @param signal [batch][samples]
 * @param size samples of a window, at most those of the signal
 * @param step samples from the beginning of one to that of the next
 * @returns [batch][windows][size], as many as fit; undefined where a signal filled up to whole steps is too much
 */
export function signalWindows(
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
