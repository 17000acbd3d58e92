import type { CellNode } from "../../graph/cell_graph.ts";
import type { Launch, Step, Task } from "../../policy/launch.ts";
import type { ActiveRequest } from "./active_request.ts";

/** A launch under way. */
export interface Run {
  readonly launch: Launch;
  readonly id: number;
  inFlight: number;
  /** Which of the tail's cells comes next. */
  tailAt: number;
  /** Requests that end with the run. */
  readonly held: ActiveRequest[];
}

/** A task that knows its run. */
export interface EngineTask extends Task {
  readonly run: Run;
}

/** A launch of which nothing is submitted yet. */
export function startRun(launch: Launch, id: number): Run {
  return { launch, id, inFlight: 0, tailAt: 0, held: [] };
}

/** The next step of a run's tail in which some request of it goes on; undefined when none does. */
export function nextOfTail(
  run: Run,
  tail: NonNullable<Launch["tail"]>,
  isOver: (request: ActiveRequest) => boolean,
): Step | undefined {
  for (let tried = 0; tried < tail.cells.length; tried++) {
    const cell = tail.cells[run.tailAt];
    run.tailAt = (run.tailAt + 1) % tail.cells.length;
    const nodes: CellNode[] = [];
    for (const request of tail.requests as readonly ActiveRequest[]) {
      const node = isOver(request) ? undefined : request.nextGrown(cell);
      if (node) nodes.push(node);
    }
    if (nodes.length > 0) return { cell, nodes };
  }
  return undefined;
}
