import { NODE } from "../../graph/cell_graph.ts";
import type { NodeOf } from "../../policy/request.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { Settlement } from "./executor.ts";

/**
 * Writes down what became of a row of a task that started at `startNs`.
 * @returns whether it was executed for its request
 */
export function settleRow(
  node: NodeOf<ActiveRequest>,
  settlement: Settlement,
  startNs: number,
): boolean {
  const { cell, graph } = node;
  const request = graph.owner;
  if (cell.stop) request.stepsSettled++;
  graph.remaining--;
  if (settlement === "void") {
    node.state = NODE.void;
    return false;
  }
  // Tasks of other workers may have started later and ended before. NaN: none was settled yet.
  if (!(request.startNs <= startNs)) request.startNs = startNs;
  if (settlement instanceof Error) {
    node.state = NODE.void;
    request.over = true;
    return false;
  }
  node.state = NODE.done;
  request.nodesDone++;
  if (settlement === "last") graph.closed = true;
  if (settlement === "last" || (graph.closed && graph.remaining === 0)) {
    request.over = true;
  }
  return true;
}
