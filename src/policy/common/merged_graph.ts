/**
 * Runs that carry whole requests of one model, of any shape, without padding: their graphs merged level by level. A
 * level is the longest path from the inputs (TensorFlow Fold's depth-based batching).
 * Assumption: a growing decoder cannot be merged ahead of time; it follows step by step once the
 * static parts of all requests are executed.
 */
import type { Cell } from "../../graph/cell.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Launch, Step } from "../launch.ts";
import type { NodeOf, Request } from "../request.ts";

/** Nodes of one cell at one level form one batch, however many rows that is. */
export function mergedGraph(
  { worker, requests, why }: {
    worker: number;
    requests: readonly Request[];
    why: string;
  },
): Launch {
  const { model } = requests[0];
  const levels: Map<Cell, NodeOf<Request>[]>[] = [];
  for (const request of requests) {
    const levelOf: number[] = [];
    for (const node of request.graph.nodes) {
      let level = 0;
      for (const before of node.predecessors) {
        level = Math.max(level, levelOf[before.index] + 1);
      }
      levelOf.push(level);
      const cells = levels[level] ??= new Map();
      const nodes = cells.get(node.cell);
      if (nodes) nodes.push(node);
      else cells.set(node.cell, [node]);
    }
  }
  const steps: Step[] = levels.flatMap((cells) =>
    [...cells].map(([cell, nodes]) => ({ cell, nodes }))
  );
  const growing = growingCells(model.cells);
  return {
    worker,
    steps,
    ...(growing.length > 0 && { tail: { cells: growing, requests } }),
    release: "end",
    why,
  };
}
