/**
 * Which nodes may be submitted next, kept by counting: `node.pending` is the number of predecessors
 * not yet submitted, -1 once the node itself is. Shared by the policies that advance node by node.
 */
import type { Cell } from "../../graph/cell.ts";
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
    if (next.pending === UNCOUNTED) next.pending = unsubmitted(next);
    if (--next.pending === 0) onReady(next);
  }
  node.pending = SUBMITTED;
}

/** A request that its policy keeps the nodes with that can run. */
interface Advancing {
  readonly tag: { readonly ready: CellNode<Advancing>[] };
}

/** A node was submitted: it is ready no more, and those behind it may be. */
export function advanceReady<Owner extends Advancing, Tag>(
  node: CellNode<Owner, Tag>,
): void {
  const { ready } = node.graph.owner.tag;
  const at = ready.indexOf(node);
  if (at >= 0) ready.splice(at, 1);
  advance(node, (next) => next.graph.owner.tag.ready.push(next));
}

/** How many of a node's predecessors have not been submitted. */
function unsubmitted<Owner, Tag>(
  { predecessors }: CellNode<Owner, Tag>,
): number {
  let count = 0;
  for (let k = 0; k < predecessors.length; k++) {
    if (predecessors[k].pending !== SUBMITTED) count++;
  }
  return count;
}

/**
 * One pass over cells in their order: of each, the nodes that are ready, those included that become so once what is
 * before them in the pass is submitted. Counts nothing: `advance` does, when it is.
 */
export function sweep<Owner, Tag>(
  cells: readonly Cell[],
  ready: readonly CellNode<Owner, Tag>[],
): { cell: Cell; nodes: CellNode<Owner, Tag>[] }[] {
  const byCell = new Map(
    cells.map((cell) => [cell, [] as CellNode<Owner, Tag>[]]),
  );
  for (const node of ready) byCell.get(node.cell)!.push(node);
  const pending = new Map<CellNode<Owner, Tag>, number>();
  const steps: { cell: Cell; nodes: CellNode<Owner, Tag>[] }[] = [];
  const passed = new Set<Cell>();
  for (const [cell, nodes] of byCell) {
    passed.add(cell);
    if (nodes.length === 0) continue;
    steps.push({ cell, nodes });
    for (const { successors } of nodes) {
      for (const next of successors) {
        const before = pending.get(next) ??
          (next.pending === UNCOUNTED ? unsubmitted(next) : next.pending);
        pending.set(next, before - 1);
        // What a cell's nodes make ready of the same cell, or of one before it, is for the next pass.
        if (before === 1 && !passed.has(next.cell)) {
          byCell.get(next.cell)!.push(next);
        }
      }
    }
  }
  return steps;
}
