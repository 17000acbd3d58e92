/** Names of values that nodes and the graphs inside them read. */
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "./ir.ts";

/** What a node reads, itself or in its graphs. */
export function readNames({ inputs, attributes }: OnnxNode): string[] {
  const names = inputs.filter((name) => name !== "");
  for (const attribute of attributes.values()) {
    for (const graph of graphsOf(attribute)) names.push(...graph.captured);
  }
  return names;
}

/** What graphs of a node read from around it, each once; undefined where it has none. */
export function capturedBy({ attributes }: OnnxNode): string[] | undefined {
  const graphs = [...attributes.values()].flatMap(graphsOf);
  return graphs.length === 0
    ? undefined
    : [...new Set(graphs.flatMap(({ captured }) => captured))];
}

/** What nodes of a graph, and of the graphs inside them, read. */
export function allReadNames(
  graph: OnnxGraph,
  found: Set<string> = new Set(),
): Set<string> {
  for (const { inputs, attributes } of graph.nodes) {
    for (const name of inputs) found.add(name);
    for (const attribute of attributes.values()) {
      for (const inner of graphsOf(attribute)) allReadNames(inner, found);
    }
  }
  for (const { name } of graph.outputs) found.add(name);
  return found;
}

/** Graphs that an attribute consists of. */
export function graphsOf(attribute: OnnxAttribute): readonly OnnxGraph[] {
  if (attribute.kind === "graph") return [attribute.value];
  return attribute.kind === "graphs" ? attribute.value : [];
}

/** A graph inside a node where values that it reads from around have other names; no value of its own has those. */
export function renamedGraph(
  graph: OnnxGraph,
  nameOf: (name: string) => string,
): OnnxGraph {
  const captured = new Set(graph.captured);
  const isSame = graph.captured.every((name) => nameOf(name) === name);
  if (isSame) return graph;
  const renamed = (name: string) => captured.has(name) ? nameOf(name) : name;
  return {
    ...graph,
    outputs: graph.outputs.map((value) => ({
      ...value,
      name: renamed(value.name),
    })),
    nodes: graph.nodes.map((node) => ({
      ...node,
      inputs: node.inputs.map(renamed),
      attributes: new Map(
        [...node.attributes].map(([name, attribute]) =>
          [name, renamedAttribute(attribute, renamed)] as const
        ),
      ),
    })),
    captured: [...new Set(graph.captured.map(nameOf))],
  };
}

/** An attribute whose graphs read values of other names. */
export function renamedAttribute(
  attribute: OnnxAttribute,
  nameOf: (name: string) => string,
): OnnxAttribute {
  switch (attribute.kind) {
    case "graph":
      return { kind: "graph", value: renamedGraph(attribute.value, nameOf) };
    case "graphs":
      return {
        kind: "graphs",
        value: attribute.value.map((graph) => renamedGraph(graph, nameOf)),
      };
  }
  return attribute;
}

/**
 * A graph with names for results that nobody wants, but which stand before wanted ones: an operator in plain TypeScript
 * makes them all the same.
 */
export function withOutputs(graph: OnnxGraph): OnnxGraph {
  const nodes = graph.nodes.map((node) => {
    const last = node.outputs.findLastIndex((name) => name !== "");
    const isWhole = node.outputs.indexOf("") === -1 ||
      node.outputs.indexOf("") > last;
    if (isWhole) return node;
    const outputs = node.outputs.map((name, i) =>
      name === "" && i < last ? `${node.name}#${i}` : name
    );
    return { ...node, outputs };
  });
  return { ...graph, nodes };
}
