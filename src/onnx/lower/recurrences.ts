/** Recurrent layers as steps: of floats, or of bytes. */
import type { OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { quantizedRecurrenceOf } from "./quantized_recurrence.ts";
import { floatRecurrenceOf, type Recurrence } from "./recurrence.ts";

/**
 * @returns what a node does at every position; undefined when operators of cells do not compute it
 * @throws RangeError naming the input whose sizes do not fit
 */
export function recurrenceOf(
  node: OnnxNode,
  known: (name: string) => KnownValue,
): Recurrence | undefined {
  return quantizedRecurrenceOf(node, known) ?? floatRecurrenceOf(node, known);
}
