import type { CellGraph, CellNode } from "./cell_graph.ts";

/**
 * Takes apart the graph of a request that is over and whose nodes nobody looks at any more: none of its objects leads
 * to the others.
 */
export function emptyGraph(graph: CellGraph): void {
  const { nodes, inputs, caches } = graph;
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i];
    node.predecessors = node.successors = NOTHING;
    node.inputs = node.caches = NOTHING;
    node.reusable = undefined;
    node.next = undefined;
  }
  for (const { sources } of graph.results.values()) sources.length = 0;
  (nodes as CellNode[]).length = inputs.length = caches.length = 0;
}

const NOTHING: readonly never[] = [];
