import { type CellGraph, NODE } from "./cell_graph.ts";

/** All nodes of a static graph wait again, for another request: whatever engine and policy kept with them is gone. */
export function restartGraph<Owner>(
  graph: CellGraph<Owner>,
  owner: Owner,
): void {
  const { nodes } = graph;
  graph.owner = owner;
  graph.remaining = nodes.length;
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[i];
    node.state = NODE.waiting;
    node.worker = -1;
    node.tag = undefined;
    node.pending = 0;
    node.next = undefined;
  }
}
