/**
 * Which nodes may be submitted next, kept by counting: `node.pending` is the number of predecessors
 * not yet submitted, -1 once the node itself is. Shared by the policies that advance node by node.
 */
import type { CellNode } from "../../graph/cell_graph.ts";

const SUBMITTED = -1;
/** A node that growth appended and nobody has counted yet. */
const UNCOUNTED = 0;

/** Counts a node of a graph that has just arrived. @returns whether it needs to wait for nothing */
export function isReadyAtOnce(node: CellNode): boolean {
  node.pending = node.predecessors.length;
  return node.pending === 0;
}

/**
 * Updates the dependencies behind a node that was submitted (Cellular Batching, Algorithm 1, line 18).
 * @param onReady called for every successor all of whose inputs are submitted now
 */
export function advance<Owner, Tag>(
  node: CellNode<Owner, Tag>,
  onReady: (next: CellNode<Owner, Tag>) => void,
): void {
  const { successors } = node;
  for (let i = 0; i < successors.length; i++) {
    const next = successors[i];
    if (next.pending === UNCOUNTED) {
      const { predecessors } = next;
      for (let k = 0; k < predecessors.length; k++) {
        if (predecessors[k].pending !== SUBMITTED) next.pending++;
      }
    }
    if (--next.pending === 0) onReady(next);
  }
  node.pending = SUBMITTED;
}
