/**
 * Windows over a signal that comes in pieces, and the signal that overlapping windows add up to. What is kept from one
 * piece to the next is a state of the stream: window - hop samples, zeros at first.
 */
import type { Operators } from "../graph/cell_builder.ts";
import type { Value } from "../graph/operator.ts";

/**
 * The window that ends with new samples.
 * @param before the samples before these, window - hop of them
 * @param samples the new ones, hop of them
 * @returns the window, and what is `before` the next samples
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, f32 } from "@shoal/core";
 * import { frameShift } from "@shoal/core/onnx";
 *
 * const cell = defineCell({
 *   name: "window",
 *   inputs: { before: f32(384), samples: f32(128) },
 *   body: (op, { before, samples }) => frameShift(op, before, samples),
 * });
 * assert.deepEqual(cell.outputs.map(({ width }) => width), [512, 384]);
 * ```
 */
export function frameShift(
  op: Operators,
  before: Value,
  samples: Value,
): { frame: Value; before: Value } {
  const frame = op.Concat(before, samples);
  return { frame, before: op.Slice(frame, samples.width, frame.width) };
}

/**
 * Adds a window to those that it overlaps with; there is no window function.
 * @param rest what the windows before add up to from here on, window - hop samples
 * @param frame the window
 * @returns its first hop samples, to which no later window adds, and the `rest`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, f32 } from "@shoal/core";
 * import { overlapAdd } from "@shoal/core/onnx";
 *
 * const cell = defineCell({
 *   name: "signal",
 *   inputs: { rest: f32(384), frame: f32(512) },
 *   body: (op, { rest, frame }) => overlapAdd(op, rest, frame),
 * });
 * assert.deepEqual(cell.outputs.map(({ width }) => width), [128, 384]);
 * ```
 */
export function overlapAdd(
  op: Operators,
  rest: Value,
  frame: Value,
): { samples: Value; rest: Value } {
  const [kept, window] = [rest.width, frame.width];
  const hop = window - kept;
  /** Samples that no window before has reached are this one's. */
  const sum = (from: number, to: number): Value => {
    const parts: Value[] = [];
    const added = Math.min(to, kept);
    if (from < added) {
      const [a, b] = [frame, rest].map((row) => op.Slice(row, from, added));
      parts.push(op.Add(a, b));
    }
    const alone = Math.max(from, added);
    if (alone < to) parts.push(op.Slice(frame, alone, to));
    return parts.length === 1 ? parts[0] : op.Concat(...parts);
  };
  return { samples: sum(0, hop), rest: sum(hop, window) };
}
