/** What nobody reads any more once layers have other weights. */
import { type RawGraph, rawGraphsOf, type RawNode } from "../read/raw_graph.ts";

/**
 * Values that only replaced nodes have read, and those that only they are made of, by name: of nodes and initializers
 * that can be left out.
 * @param replaced nodes by their place, with what takes it
 * @param spared values that replaced nodes read no more, and what they are made of
 */
export function unneeded(
  graph: RawGraph,
  replaced: ReadonlyMap<
    number,
    readonly { readonly inputs: readonly string[] }[]
  >,
  spared: ReadonlySet<string>,
): Set<string> {
  const reads = new Map<string, number>();
  const count = (names: readonly string[], by: 1 | -1) => {
    for (const name of names) reads.set(name, (reads.get(name) ?? 0) + by);
  };
  const producers = new Map<string, RawNode>();
  graph.nodes.forEach((node, at) => {
    for (const name of node.outputs) producers.set(name, node);
    const made = replaced.get(at);
    if (made === undefined) count(namesReadBy(node), 1);
    for (const { inputs } of made ?? []) count(inputs, 1);
  });
  count(graph.outputs.map(({ name }) => name), 1);
  const gone = new Set<string>();
  for (let size = -1; size !== gone.size;) {
    size = gone.size;
    for (const name of spared) {
      const node = producers.get(name);
      const outputs = node?.outputs.filter((output) => output !== "") ?? [name];
      const isRead = outputs.some((output) => (reads.get(output) ?? 0) > 0);
      if (gone.has(name) || isRead) continue;
      for (const output of outputs) gone.add(output);
      if (node) count(namesReadBy(node), -1);
    }
  }
  return gone;
}

/** What a node reads, it and graphs inside it. */
function namesReadBy({ inputs, attributes }: RawNode): string[] {
  const names = [...inputs];
  for (const attribute of attributes.values()) {
    for (const graph of rawGraphsOf(attribute)) {
      for (const node of graph.nodes) names.push(...namesReadBy(node));
      names.push(...graph.outputs.map(({ name }) => name));
    }
  }
  return names;
}
