/**
 * Which nodes may be submitted next, kept by counting: `node.pending` is the number of predecessors
 * not yet submitted, -1 once the node itself is. Shared by the policies that advance node by node.
 */
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";

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

/** What a policy keeps with a request that it lets take passes (see `sweep`). */
export interface Advance<Owner = unknown> {
  /** Nodes that can run, in the order in which they became so. */
  readonly ready: CellNode<Owner>[];
  /** Nodes that are submitted, of launches that are not finished. */
  underWay: number;
}

/** A request that its policy keeps this with. */
interface Advancing {
  readonly model: { readonly cells: readonly Cell[] };
  readonly tag: Advance<Advancing>;
}

/**
 * Where a request begins that has just arrived. Frames of a stream have one object, one after the other, with what the
 * policy keeps in it besides: so much that is made anew 30,000 times a second keeps the collector busy, and caches cold.
 * @typeParam Tag what the policy makes of it
 */
export function startOf<Owner, Tag extends Advance<Owner> = Advance<Owner>>(
  { nodes, again }: Pick<CellGraph<Owner>, "again"> & {
    readonly nodes: readonly CellNode<Owner>[];
  },
): Tag {
  const start = (again?.tag ?? { ready: [], underWay: 0 }) as Tag;
  let ready = 0;
  for (let i = 0; i < nodes.length; i++) {
    if (isReadyAtOnce(nodes[i])) start.ready[ready++] = nodes[i];
  }
  start.ready.length = ready;
  start.underWay = 0;
  if (again) again.tag = start;
  return start;
}

/** How many of its ready nodes are of one cell, the first one's: rows of one task. */
export function rowsReady({ ready }: Advance): number {
  let rows = 0;
  for (const { cell } of ready) if (cell === ready[0].cell) rows++;
  return rows;
}

/** Nodes of a pass were submitted: they are ready no more, and those behind them may be. */
export function advanceReady<Owner extends Advancing>(
  steps: Iterable<{ readonly nodes: readonly CellNode<Owner>[] }>,
): void {
  for (const { nodes } of steps) {
    for (const node of nodes) {
      node.graph.owner.tag.underWay++;
      advance(node, (next) => next.graph.owner.tag.ready.push(next));
    }
    let last: Advance<Advancing> | undefined;
    for (const { graph: { owner: { tag } } } of nodes) {
      if (tag !== last) dropSubmitted(tag.ready);
      last = tag;
    }
  }
}

/** All at once: of a request that is very wide there may be many. */
function dropSubmitted(ready: CellNode[]): void {
  let left = 0;
  for (let i = 0; i < ready.length; i++) {
    if (ready[i].pending !== SUBMITTED) ready[left++] = ready[i];
  }
  ready.length = left;
}

/** A pass is over. */
export function finishPass<Owner extends Advancing>(
  steps: Iterable<{ readonly nodes: readonly CellNode<Owner>[] }>,
): void {
  for (const { nodes } of steps) {
    for (const { graph } of nodes) graph.owner.tag.underWay--;
  }
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
 * One pass of requests over the cells of their model in their order: of each, the nodes that are ready, those included
 * that become so once what is before them in the pass is submitted. Counts nothing: `advanceReady` does, when it is.
 */
export function sweep<Owner extends Advancing>(
  requests: readonly (Owner & { readonly tag: Advance<Owner> })[],
): { cell: Cell; nodes: CellNode<Owner>[] }[] {
  const { cells } = requests[0].model;
  const byCell = cells.map(() => [] as CellNode<Owner>[]);
  for (const { tag } of requests) {
    for (const node of tag.ready) byCell[cells.indexOf(node.cell)].push(node);
  }
  /** Of nodes with several predecessors, some of them in the pass. */
  const pending = new Map<CellNode<Owner>, number>();
  const steps: { cell: Cell; nodes: CellNode<Owner>[] }[] = [];
  for (const [c, nodes] of byCell.entries()) {
    if (nodes.length === 0) continue;
    steps.push({ cell: cells[c], nodes });
    for (const { successors } of nodes) {
      for (const next of successors) {
        const { pending: counted } = next;
        const before = counted === UNCOUNTED ? unsubmitted(next) : counted;
        if (before > 1) {
          const left = (pending.get(next) ?? before) - 1;
          pending.set(next, left);
          if (left > 0) continue;
        }
        // What a cell's nodes make ready of the same cell, or of one before it, is for the next pass.
        const at = cells.indexOf(next.cell);
        if (at > c) byCell[at].push(next);
      }
    }
  }
  return steps;
}
