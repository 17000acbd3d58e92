/** What the engine tells observers of tasks and requests that have ended. */
import { NODE } from "../../graph/cell_graph.ts";
import type { Task } from "../../policy/launch.ts";
import type {
  Outcome,
  RequestRecord,
  TaskRecord,
} from "../../policy/records.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { LoggedBatch } from "./batch_log.ts";
import { computedTokens } from "./task_extents.ts";

/** @param ran rows that advanced a request, and their tokens; when the task ran */
export function taskRecord(
  task: Task,
  { rows, tokens, startNs, endNs }: {
    rows: number;
    tokens: number;
    startNs: number;
    endNs: number;
  },
): TaskRecord {
  const { nodes } = task;
  const voided = nodes.length - rows;
  // Padding fills up a batch that serves somebody, or is all that there ever was in a step: see computed().
  const isComputed = rows > 0 || nodes.length === 0;
  return {
    id: task.id,
    launchId: task.launchId,
    worker: task.worker,
    cell: task.cell.name,
    rows,
    padding: isComputed ? task.padding + (task.padsDone ? voided : 0) : 0,
    ...(task.cell.tokensMax !== undefined &&
      {
        tokens: {
          done: tokens,
          padding: isComputed ? computedTokens(task) - tokens : 0,
        },
      }),
    speculative: task.padsDone ? 0 : voided,
    startNs,
    endNs,
    requests: nodes.map((node) => node.graph.owner.id),
  };
}

export function requestRecord(
  request: ActiveRequest,
  endNs: number,
  outcome: Outcome,
): RequestRecord {
  return {
    id: request.id,
    ...(request.label !== undefined && { label: request.label }),
    model: request.model.name,
    arrivalNs: request.arrivalNs,
    startNs: request.startNs,
    endNs,
    deadlineNs: request.deadlineNs,
    finishNs: request.finishNs,
    outcome,
    nodes: request.nodesDone,
  };
}

/** Writes a settled task down for each of its requests that asked. */
export function logBatch(
  task: Task<ActiveRequest>,
  ran: Omit<LoggedBatch, "cell" | "worker">,
): void {
  for (const { graph, state } of task.nodes) {
    if (state === NODE.done) graph.owner.log?.add(task, ran);
  }
}
