/** Nodes that have a result whatever their operands are. */
import type { OnnxNode } from "../ir.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";

/** They run graphs, or take places as operands that shapes do not tell to be there. */
const MAY_FAIL =
  /^(If|Loop|Scan|Gather(Elements|ND)|MaxUnpool|ReverseSequence|Scatter.*)$/;

/**
 * Whether a node's sizes are known and no elements of its operands make it fail: all that is not constant are floats
 * and bools, since integers may be places, sizes and divisors.
 */
export function cannotFail(
  { op, inputs, outputs }: OnnxNode,
  values: InferredValues,
): boolean {
  return !MAY_FAIL.test(op) && [...inputs, ...outputs].every((name) => {
    const { type, dims, constant } = values.get(name) ?? {};
    return name === "" || constant ||
      (type === "float32" || type === "bool") &&
        dims?.every((size) => typeof size === "number");
  });
}
