/** The small models of int8 as files. */
import type { Case, Model } from "./quantized_cases.ts";
import { writeModel } from "./write_model.ts";

/** A file of a case's nodes, or of another model that has its inputs and its result. */
export function writtenCase(
  { nodes, weights }: Model,
  { inputs, type }: Case,
): Uint8Array<ArrayBuffer> {
  const used = new Set(nodes.flatMap(({ inputs }) => inputs));
  return writeModel({
    graph: {
      inputs: Object.entries(inputs).map(([name, rest]) => ({ name, ...rest })),
      outputs: [{ name: "y", type: type ?? "float32" }],
      initializers: Object.fromEntries(
        Object.entries(weights).filter(([name]) => used.has(name)),
      ),
      nodes,
    },
  });
}
