import { EventHeap, RANK } from "../../base/event_heap.ts";
import type { ActiveRequest } from "./active_request.ts";

/** Entries of requests that have ended, as long as there are few, stay until their time comes. */
const ENDED_KEPT = 256;

/** Requests by deadline. One that has ended does not stay for long, however late its deadline. */
export class Deadlines {
  #heap = new EventHeap<Deadline>();
  /** Departures since the heap was last cleared of such requests. */
  #ended = 0;

  add(request: ActiveRequest): void {
    if (request.deadlineNs === Infinity) return;
    const { deadlineNs: atNs } = request;
    this.#heap.push({ atNs, rank: RANK.schedule, request });
  }

  /** The request has departed. */
  drop({ deadlineNs }: ActiveRequest): void {
    if (deadlineNs === Infinity) return;
    this.#ended++;
    if (this.#ended < ENDED_KEPT || 2 * this.#ended < this.#heap.size) return;
    const all = this.#heap;
    this.#heap = new EventHeap();
    for (let next = all.pop(); next; next = all.pop()) {
      if (!next.request.departed) this.#heap.push(next);
    }
    this.#ended = 0;
  }

  /** The next deadline of a request that waits; Infinity when there is none. */
  nextNs(): number {
    for (;;) {
      const next = this.#heap.peek();
      if (next === undefined) return Infinity;
      if (waits(next.request)) return next.atNs;
      this.#heap.pop();
    }
  }

  /** Takes out a request that waits at its deadline; undefined when there is no further one. */
  takeExpired(nowNs: number): ActiveRequest | undefined {
    for (;;) {
      const next = this.#heap.peek();
      if (next === undefined || next.atNs > nowNs) return undefined;
      this.#heap.pop();
      if (waits(next.request) && next.request.inFlight === 0) {
        return next.request;
      }
    }
  }
}

interface Deadline {
  readonly atNs: number;
  readonly rank: number;
  readonly request: ActiveRequest;
}

function waits(request: ActiveRequest): boolean {
  return !request.departed && Number.isNaN(request.startNs);
}
