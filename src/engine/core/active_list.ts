import type { ActiveRequest } from "./active_request.ts";

/** Requests in the system, in no particular order: each knows its place, so that any of them leaves at once. */
export class ActiveList {
  readonly #requests: ActiveRequest[] = [];

  get size(): number {
    return this.#requests.length;
  }

  add(request: ActiveRequest): void {
    request.place = this.#requests.push(request) - 1;
  }

  delete(request: ActiveRequest): void {
    const last = this.#requests.pop()!;
    if (last === request) return;
    this.#requests[request.place] = last;
    last.place = request.place;
  }

  /** A copy, oldest first. */
  inOrder(): ActiveRequest[] {
    return [...this.#requests].sort((a, b) => a.id - b.id);
  }

  clear(): void {
    this.#requests.length = 0;
  }
}
