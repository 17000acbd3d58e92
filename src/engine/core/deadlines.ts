import { EventHeap, RANK } from "../../base/event_heap.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { DeadlineError } from "./errors.ts";

/** Entries of requests that have ended, as long as there are few, stay until their time comes. */
const ENDED_KEPT = 256;

/** A kind of deadline. */
interface DeadlineKind {
  /** When it is; Infinity for a request without one. */
  atNs(request: ActiveRequest): number;
  /** Whether the request still has to keep it; once false, it stays so. */
  isOpen(request: ActiveRequest): boolean;
  /** Whether an open one that has passed is missed now; asked once. */
  isMissed(request: ActiveRequest): boolean;
}

/** A request has to have been started: rows in flight count, before it is known when they started. */
const START: DeadlineKind = {
  atNs: ({ deadlineNs }) => deadlineNs,
  isOpen: ({ departed, startNs }) => !departed && Number.isNaN(startNs),
  isMissed: ({ inFlight }) => inFlight === 0,
};

/** A request has to have departed. */
const FINISH: DeadlineKind = {
  atNs: ({ finishNs }) => finishNs,
  isOpen: ({ departed }) => !departed,
  isMissed: () => true,
};

/** Requests by deadlines of one kind. One that has ended does not stay for long, however late its deadline. */
class DeadlineHeap {
  readonly #kind: DeadlineKind;
  #heap = new EventHeap<Deadline>();
  /** Departures since the heap was last cleared of such requests. */
  #ended = 0;

  constructor(kind: DeadlineKind) {
    this.#kind = kind;
  }

  add(request: ActiveRequest): void {
    const atNs = this.#kind.atNs(request);
    if (atNs === Infinity) return;
    this.#heap.push({ atNs, rank: RANK.schedule, request });
  }

  /** The request has departed. */
  drop(request: ActiveRequest): void {
    if (this.#kind.atNs(request) === Infinity) return;
    this.#ended++;
    if (this.#ended < ENDED_KEPT || 2 * this.#ended < this.#heap.size) return;
    const all = this.#heap;
    this.#heap = new EventHeap();
    for (let next = all.pop(); next; next = all.pop()) {
      if (!next.request.departed) this.#heap.push(next);
    }
    this.#ended = 0;
  }

  /** The next deadline that some request has to keep; Infinity when there is none. */
  nextNs(): number {
    for (;;) {
      const next = this.#heap.peek();
      if (next === undefined) return Infinity;
      if (this.#kind.isOpen(next.request)) return next.atNs;
      this.#heap.pop();
    }
  }

  /** Takes out a request that has missed its deadline; undefined when there is no further one. */
  takeMissed(nowNs: number): ActiveRequest | undefined {
    for (;;) {
      const next = this.#heap.peek();
      if (next === undefined || next.atNs > nowNs) return undefined;
      this.#heap.pop();
      const { request } = next;
      if (this.#kind.isOpen(request) && this.#kind.isMissed(request)) {
        return request;
      }
    }
  }
}

/** A deadline that a request has missed. */
export interface Missed {
  readonly request: ActiveRequest;
  readonly missed: DeadlineError["missed"];
}

/** Requests by their deadlines. */
export class Deadlines {
  readonly #starts = new DeadlineHeap(START);
  readonly #finishes = new DeadlineHeap(FINISH);

  add(request: ActiveRequest): void {
    this.#starts.add(request);
    this.#finishes.add(request);
  }

  /** The request has departed. */
  drop(request: ActiveRequest): void {
    this.#starts.drop(request);
    this.#finishes.drop(request);
  }

  /** The next deadline that some request has to keep; Infinity when there is none. */
  nextNs(): number {
    return Math.min(this.#starts.nextNs(), this.#finishes.nextNs());
  }

  /** Takes out a request that has missed one; undefined when there is no further one. */
  takeMissed(nowNs: number): Missed | undefined {
    const unstarted = this.#starts.takeMissed(nowNs);
    if (unstarted) {
      const { deadlineNs, finishNs } = unstarted;
      const missed = finishNs < deadlineNs ? "finish" : "start";
      return { request: unstarted, missed };
    }
    const unfinished = this.#finishes.takeMissed(nowNs);
    return unfinished && { request: unfinished, missed: "finish" };
  }
}

interface Deadline {
  readonly atNs: number;
  readonly rank: number;
  readonly request: ActiveRequest;
}
