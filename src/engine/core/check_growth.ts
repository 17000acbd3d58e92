import { shorten } from "../../base/describe.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";

/**
 * A request that grows ends with its last step, whatever else of it is still to be done. So what it results in
 * has to be done by its first step, or be of a step behind it, of which those behind the end are left out.
 * @param graph just unfolded, and open to growth
 * @throws RangeError when there is nothing to grow from, or a result that some schedules would lose
 */
export function checkGrowth(model: Model, graph: CellGraph): void {
  const stop = graph.nodes.find(({ cell }) => cell.stop);
  if (stop === undefined) {
    throw new RangeError(
      `Model "${model.name}" declares growth, but no node of the request has a stop rule to grow from`,
    );
  }
  let before: ReadonlySet<CellNode> | undefined;
  let behind: ReadonlySet<CellNode> | undefined;
  for (const [name, { collected, sources }] of graph.results) {
    for (const { node } of sources) {
      if (node === stop) continue;
      before ??= reached(stop, ({ predecessors }) => predecessors);
      if (before.has(node)) continue;
      behind ??= reached(stop, ({ successors }) => successors);
      if (collected && behind.has(node)) continue;
      throw new RangeError(
        `Model "${model.name}" takes result "${
          shorten(name)
        }" from cell "${node.cell.name}", which the first step of cell "${stop.cell.name}" does not wait for: ` +
          "the request may end before it is done; let the step read it, or what follows from it",
      );
    }
  }
}

/** Nodes that can be reached from one. */
function reached(
  from: CellNode,
  next: (node: CellNode) => readonly CellNode[],
): ReadonlySet<CellNode> {
  const found = new Set<CellNode>();
  const open = [from];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const neighbour of next(node)) {
      if (found.has(neighbour)) continue;
      found.add(neighbour);
      open.push(neighbour);
    }
  }
  return found;
}
