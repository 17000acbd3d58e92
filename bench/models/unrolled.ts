/** A request's cell graph with all its steps, as far as it is asked for. */
import { CellGraph, type CellNode } from "../../src/graph/cell_graph.ts";
import { growingCells } from "../../src/graph/growing_cells.ts";
import type { Model } from "../../src/graph/model.ts";

/** A request, unfolded and grown. */
export interface Unrolled {
  graph: CellGraph;
  /** Nodes of cells that do not grow. */
  before: readonly CellNode[];
  /** Nodes of every growing step, in the same order each; none of a model that does not grow. */
  steps: readonly (readonly CellNode[])[];
}

/**
 * @param steps growing steps in all; of no effect on a model that does not grow
 * @throws {RangeError} when the request does not take so many
 */
export function unrolled(
  model: Model,
  input: unknown,
  steps: number,
): Unrolled {
  model.check(input);
  const graph = new CellGraph(model);
  model.unfold(input, graph);
  const growing = new Set(growingCells(model.cells));
  const before = graph.nodes.filter(({ cell }) => !growing.has(cell));
  const first = graph.nodes.filter(({ cell }) => growing.has(cell));
  graph.seal();
  if (growing.size === 0) return { graph, before, steps: [] };
  if (steps > graph.stepsMax) {
    throw new RangeError(
      `A request to "${model.name}" takes up to ${graph.stepsMax} steps, not ${steps}`,
    );
  }
  const all = [first];
  while (all.length < steps) {
    const { length } = graph.nodes;
    graph.growing(() => model.grow?.(graph.nodes[length - 1], graph));
    all.push(graph.nodes.slice(length));
  }
  return { graph, before, steps: all };
}
