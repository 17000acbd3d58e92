/** A node whose inputs are known, run when a file is loaded or a request is unfolded. */
import { runPlain } from "../plain/registry.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import type { OnnxNode } from "./ir.ts";
import type { Place } from "./place.ts";

/** @throws OnnxError naming the node when the operator refuses what the file gives it */
export function runConstant(
  { op, attributes, version, outputs }: OnnxNode,
  inputs: readonly (PlainTensor | undefined)[],
  place: Place,
): PlainTensor[] {
  try {
    return runPlain(op, inputs, attributes, {
      opset: version,
      outputs: outputs.length,
    });
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) {
      place.fail(error.message);
    }
    throw error;
  }
}
