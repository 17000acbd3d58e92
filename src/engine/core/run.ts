import type { Launch, Step, Tail, Task } from "../../policy/launch.ts";
import type { EngineView } from "../../policy/policy.ts";
import type { NodeOf } from "../../policy/request.ts";
import type { ActiveRequest } from "./active_request.ts";

/** A launch under way. */
export interface Run {
  /** What the policy answered, and is told of: it may have changed since. */
  readonly given: Launch<ActiveRequest>;
  /** As it was answered, but for the nodes of steps, which tasks have. */
  readonly launch: Launch<ActiveRequest>;
  readonly id: number;
  /** Nobody waits for single tasks of it, and hearing of each is dear: tasks that others follow are quiet. */
  readonly isQuiet: boolean;
  submitted: number;
  inFlight: number;
  /** Which of the tail's cells comes next. */
  tailAt: number;
  /** Requests that end with the run. */
  readonly held: ActiveRequest[];
  /** Requests with steps that somebody is to be told of. */
  readonly stepped: ActiveRequest[];
  /** The policy hears of it more than once: until it is over it may look at any of its nodes. */
  readonly isLong: boolean;
  /** Whose nodes it has, if it is long: as often as they count it. */
  readonly requests: ActiveRequest[];
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

/** Tail tasks a run keeps on its worker: one running, one behind it, so that the worker never waits. */
const TAIL_AHEAD = 2;

/** Workers that have nothing yet. */
export function idleWorkers(count: number): WorkerLoad[] {
  return Array.from({ length: count }, (_, id) => ({ id, queued: 0 }));
}

/** A launch of which nothing is submitted yet. */
export function startRun(
  given: Launch<ActiveRequest>,
  id: number,
  { isRemote = false }: EngineView,
): Run {
  // A copy: a decision stays what it was, whatever its policy uses its objects and lists for next.
  const { steps, tail, tokens, notes } = given;
  const launch: Launch<ActiveRequest> = {
    ...given,
    steps: steps.slice(),
    ...(tail && {
      tail: { cells: tail.cells.slice(), requests: tail.requests.slice() },
    }),
    ...(tokens && { tokens: tokens.slice() }),
    ...(notes && { notes: notes.slice() }),
  };
  const isQuiet = isRemote && launch.release === "end";
  return {
    given,
    launch,
    id,
    isQuiet,
    submitted: 0,
    inFlight: 0,
    tailAt: 0,
    held: [],
    stepped: [],
    isLong: launch.steps.length > 1 || launch.tail !== undefined,
    requests: [],
  };
}

/** A run has nodes of the request, which may be over before it is. */
export function hold(run: Run, request: ActiveRequest): void {
  if (!run.isLong || request.longRun === run.id) return;
  request.longRun = run.id;
  request.longRuns++;
  run.requests.push(request);
}

/**
 * A run has one more task in flight.
 * @returns whether it is quiet: the engine need not hear of it before others of the run that follow it, if they do
 */
export function countTask(run: Run): boolean {
  const { launch: { steps, tail }, isQuiet, tailAt } = run;
  run.inFlight++;
  run.submitted++;
  const isFollowed = run.submitted <= steps.length
    ? run.submitted + (tail ? TAIL_AHEAD : 1) <= steps.length
    : tailAt > 0;
  return isQuiet && isFollowed;
}

/**
 * Tasks that a run has in flight, at least, while it goes on in its tail. A quiet run has the rest of a growing
 * step, once it is known that the step before was not the last, and the first tasks of the next, which last until
 * the engine is awake: as workers are first in first out, what is in flight are the last tasks that were submitted.
 */
export function tasksAhead(
  { isQuiet, tailAt }: Run,
  { cells }: Tail<ActiveRequest>,
): number {
  if (!isQuiet) return TAIL_AHEAD;
  return 1 + tailAt + (tailAt < TAIL_AHEAD ? cells.length : 0);
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
