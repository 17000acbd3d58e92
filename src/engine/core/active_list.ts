import type { ActiveRequest } from "./active_request.ts";

/** Requests in the system, in no particular order: each knows its place, so that any of them leaves at once. */
export class ActiveList {
  readonly #requests: ActiveRequest[] = [];
  /** Frames of which all nodes were submitted. */
  #out = 0;

  get size(): number {
    return this.#requests.length;
  }

  /** Whether all of them are frames of which all nodes were submitted. */
  get isOut(): boolean {
    return this.#out === this.size;
  }

  /** A node of the request was submitted. */
  submitted(request: ActiveRequest): void {
    const { session, nodesDone, inFlight, graph } = request;
    if (!session || nodesDone + inFlight < graph.nodes.length) return;
    request.isOut = true;
    this.#out++;
  }

  has(request: ActiveRequest): boolean {
    return this.#requests[request.place] === request;
  }

  add(request: ActiveRequest): void {
    request.place = this.#requests.push(request) - 1;
  }

  delete(request: ActiveRequest): void {
    if (request.isOut) this.#out--;
    const last = this.#requests.pop()!;
    if (last === request) return;
    this.#requests[request.place] = last;
    last.place = request.place;
  }

  /** A copy, oldest first. */
  inOrder(): ActiveRequest[] {
    return [...this.#requests].sort((a, b) => a.id - b.id);
  }

  /** Takes all out, oldest first. */
  takeAll(): ActiveRequest[] {
    const all = this.inOrder();
    this.#requests.length = this.#out = 0;
    return all;
  }
}
