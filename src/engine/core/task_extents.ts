/** How much of a task is computed: its rows, and where rows are tokens or look back, how much of each. */
import { type Extent, hasExtents, largerExtent } from "../../graph/cache.ts";
import type { Cell } from "../../graph/cell.ts";
import { NODE } from "../../graph/cell_graph.ts";
import type { Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "./active_request.ts";

/**
 * What is computed for a task: all rows that are alive, and padding unless every row's request has ended.
 * @returns rows, and how much there is of each where that makes a difference
 */
export function computed<Slot>(
  task: Task<ActiveRequest<Slot>>,
  isDone: (request: ActiveRequest<Slot>) => boolean,
): { rows: number; extents?: readonly Extent[] } {
  const { cell, nodes, padding, padsDone } = task;
  let alive = 0;
  for (const node of nodes) {
    if (!isDone(node.graph.owner)) alive++;
  }
  if (nodes.length > 0 && alive === 0) return { rows: 0 };
  const rows = padding + (padsDone ? nodes.length : alive);
  if (!hasExtents(cell)) return { rows };
  const real = nodes.filter((node) => padsDone || !isDone(node.graph.owner))
    .map((
      node,
    ) => padded(node, task));
  const largest = real.reduce(
    largerExtent,
    padded({ length: 1, caches: cell.caches.map(() => ({ seen: 1 })) }, task),
  );
  return { rows, extents: [...real, ...new Array(padding).fill(largest)] };
}

/** The extent that is computed for a row; what a cell appends itself is as long as it is. */
function padded(extent: Extent, { cell, paddedLength }: Task): Extent {
  if (paddedLength === 0) return extent;
  const ragged = cell.tokensMax !== undefined;
  return {
    length: ragged ? Math.max(extent.length, paddedLength) : extent.length,
    caches: extent.caches.map(({ seen }, i) => ({
      seen: ragged || !cell.caches[i].appends
        ? Math.max(seen, paddedLength)
        : seen,
    })),
  };
}

/** Tokens computed for a ragged task, if it is. */
export function computedTokens(
  { nodes, padding, padsDone, paddedLength }: Task,
): number {
  let sum = 0;
  let longest = Math.max(1, paddedLength);
  for (const { length, state } of nodes) {
    longest = Math.max(longest, length);
    if (padsDone || state === NODE.done) sum += Math.max(length, paddedLength);
  }
  return sum + padding * longest;
}

/** Whether rows of the cell, or what they look back at, are as long as the request's input. */
export function looksAtInput({ tokensMax, caches }: Cell): boolean {
  return tokensMax !== undefined || caches.some(({ appends }) => !appends);
}
