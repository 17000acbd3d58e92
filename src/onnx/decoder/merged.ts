/**
 * A decoder that is merged of two by an `If`: one with a past, the step, and one without, which also makes keys and
 * values of what an encoder saw. These are taken out of its branch (no two values of a file that has been read are called
 * alike) and stand in for the inputs that the step has of them, so that a request brings what its encoder gives, and
 * nothing is computed twice.
 */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import type { OnnxGraph, OnnxNode } from "../ir.ts";
import { readNames } from "../names.ts";
import { quoted } from "../place.ts";

/** Which of the two branches is taken: the one with a past, where it is true. */
export const USE_PAST = "use_cache_branch";

/** The output that a state comes out as, by the names that exporters give them; itself where it is none. */
export function presentOf(input: string): string {
  return input.replace(/^past(_key_values)?/, "present");
}

/**
 * @param seen names of inputs with the positions of an encoder
 * @returns a graph that has those of them as inputs which its branch without a past does not compute of others
 */
export function withSeenKeys(
  graph: OnnxGraph,
  seen: readonly string[],
): OnnxGraph {
  const nodes = graph.nodes.filter(({ op, domain, inputs }) =>
    op === "If" && domain === "" && inputs[0] === USE_PAST
  );
  const dropped = new Set<string>();
  const taken = new BranchParts(graph);
  for (const name of seen) {
    for (const node of nodes) {
      const present = presentOf(name);
      const at = node.outputs.indexOf(present);
      const branch = node.attributes.get("else_branch");
      if (present === name || at < 0 || branch?.kind !== "graph") continue;
      const value = branch.value.outputs[at]?.name;
      if (value === undefined) continue;
      if (taken.take(branch.value, value, name)) dropped.add(name);
    }
  }
  if (dropped.size === 0) return graph;
  return {
    ...graph,
    inputs: graph.inputs.filter(({ name }) => !dropped.has(name)),
    outputs: graph.outputs.filter(({ name }) =>
      ![...dropped].some((input) => presentOf(input) === name)
    ),
    initializers: taken.initializers,
    nodes: [...taken.nodes, ...graph.nodes],
  };
}

class BranchParts {
  readonly initializers: Map<string, PlainTensor>;
  readonly nodes: OnnxNode[] = [];
  readonly #taken = new Set<OnnxNode>();

  constructor({ initializers }: OnnxGraph) {
    this.initializers = new Map(initializers);
  }

  /** Takes what makes a value of a branch; nothing where that reads the value it is to stand in for. */
  take(branch: OnnxGraph, value: string, as: string): boolean {
    const makers = new Map(
      branch.nodes.flatMap((node) =>
        node.outputs.map((name) => [name, node] as const)
      ),
    );
    const wanted = new Set<OnnxNode>();
    const read = new Set<string>();
    const open = [value];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const node = makers.get(name);
      if (name === as) return false;
      read.add(name);
      if (!node || wanted.has(node)) continue;
      wanted.add(node);
      open.push(...readNames(node));
    }
    for (const node of branch.nodes) {
      if (!wanted.has(node) || this.#taken.has(node)) continue;
      this.#taken.add(node);
      this.nodes.push(node);
    }
    for (const name of read) {
      const tensor = branch.initializers.get(name);
      if (tensor) this.initializers.set(name, tensor);
    }
    this.nodes.push({
      ...{ name: `${quoted(as)} without a past`, op: "Identity", domain: "" },
      ...{ version: 13, inputs: [value], outputs: [as] },
      attributes: new Map(),
    });
    return true;
  }
}
