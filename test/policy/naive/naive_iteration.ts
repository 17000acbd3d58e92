/** Orca, Algorithm 1, as iteration.ts reads it. */
import { NODE } from "../../../src/graph/cell_graph.ts";
import type { Launch } from "../../../src/policy/launch.ts";
import type { Request } from "../../../src/policy/request.ts";
import { type Naive, type Node, nodesOf, requestOf } from "./beside.ts";

export function naiveIteration(
  { batchSizeMax }: { batchSizeMax: number },
): Naive {
  const pool: Request[] = [];
  const running = new Set<Launch>();

  /** What runs before it in the pass, or has run. */
  function canRun(node: Node, pass: readonly Node[]): boolean {
    const { cells } = requestOf(node).model;
    return node.state === NODE.waiting &&
      node.predecessors.every((before) =>
        before.state !== NODE.waiting ||
        pass.includes(before) &&
          cells.indexOf(before.cell) < cells.indexOf(node.cell)
      );
  }

  function isRunning(request: Request): boolean {
    return [...running].some(({ steps }) =>
      steps.some(({ nodes }) =>
        nodes.some((node) => requestOf(node) === request)
      )
    );
  }

  return {
    enqueue: (request) => void pool.push(request),
    decide({ workers }) {
      const worker = workers.find(({ queued }) => queued === 0);
      const able = pool.filter((request) =>
        !isRunning(request) && nodesOf(request).some((node) => canRun(node, []))
      );
      if (!worker || able.length === 0) return undefined;
      const { model } = able[0];
      const selected = able.filter((request) => request.model === model)
        .slice(0, batchSizeMax);
      const pass: Node[] = [];
      const steps: Node[][] = [];
      for (const cell of model.cells) {
        const rows = selected.flatMap(nodesOf).filter((node) =>
          node.cell === cell && canRun(node, pass)
        );
        pass.push(...rows);
        if (rows.length > 0) steps.push(rows);
      }
      return { worker: worker.id, steps };
    },
    submitted: (launch) => void running.add(launch),
    finished: (launch) => void running.delete(launch),
    ended: (request) => void pool.splice(pool.indexOf(request), 1),
  };
}
