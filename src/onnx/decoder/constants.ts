/** Values that are the same in every step of a decoder. */
import { plainOf, type PlainTensor } from "../../tensor/plain_tensor.ts";
import type { OnnxModel } from "../ir.ts";
import { withOutputs } from "../names.ts";
import { USE_PAST } from "./merged.ts";

/** Inputs that are always the same, by the names that exporters give them. */
function constantsOf({ graph }: OnnxModel): [string, PlainTensor][] {
  return graph.inputs.flatMap(({ name, type, dims }) =>
    name === USE_PAST && type === "bool"
      ? [[name, plainOf("bool", (dims ?? [1]).map(() => 1), [1])]]
      : []
  );
}

/** The file where values have been given by name, those of inputs among them. */
export function withConstants(
  file: OnnxModel,
  given: ReadonlyMap<string, PlainTensor>,
): OnnxModel {
  const constants = new Map([...constantsOf(file), ...given]);
  const { graph } = file;
  const initializers = new Map([...graph.initializers, ...constants]);
  const inputs = graph.inputs.filter(({ name }) => !constants.has(name));
  const nodes = graph.nodes.filter(({ outputs }) =>
    !outputs.some((name) => constants.has(name))
  );
  const made = withOutputs({ ...graph, inputs, initializers, nodes });
  return { ...file, graph: made };
}
