import type { Launch, Step, Tail, Task } from "../../policy/launch.ts";
import type { NodeOf } from "../../policy/request.ts";
import type { ActiveRequest } from "./active_request.ts";

/** A launch under way. */
export interface Run {
  readonly launch: Launch<ActiveRequest>;
  readonly id: number;
  inFlight: number;
  /** Which of the tail's cells comes next. */
  tailAt: number;
  /** Requests that end with the run. */
  readonly held: ActiveRequest[];
}

/** A worker as the engine counts what it has to do. */
export interface WorkerLoad {
  readonly id: number;
  queued: number;
}

/** A task that knows its run. */
export interface EngineTask extends Task<ActiveRequest> {
  readonly run: Run;
}

/** Workers that have nothing yet. */
export function idleWorkers(count: number): WorkerLoad[] {
  return Array.from({ length: count }, (_, id) => ({ id, queued: 0 }));
}

/** A launch of which nothing is submitted yet. */
export function startRun(launch: Launch<ActiveRequest>, id: number): Run {
  return { launch, id, inFlight: 0, tailAt: 0, held: [] };
}

/** The next step of a run's tail in which some request of it goes on; undefined when none does. */
export function nextOfTail(
  run: Run,
  tail: Tail<ActiveRequest>,
  isOver: (request: ActiveRequest) => boolean,
): Step<ActiveRequest> | undefined {
  for (let tried = 0; tried < tail.cells.length; tried++) {
    const cell = tail.cells[run.tailAt];
    run.tailAt = (run.tailAt + 1) % tail.cells.length;
    const nodes: NodeOf<ActiveRequest>[] = [];
    for (const request of tail.requests) {
      const node = isOver(request) ? undefined : request.nextGrown(cell);
      if (node) nodes.push(node);
    }
    if (nodes.length > 0) return { cell, nodes };
  }
  return undefined;
}
