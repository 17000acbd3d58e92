import type { ActiveRequest } from "./active_request.ts";

/** Share of its time after which the oldest request gives way to the newest. */
const PATIENCE = 1 / 2;

/** Requests of one model that wait to be unfolded; any of them may leave. */
export class WaitingList {
  #oldest: ActiveRequest | undefined;
  #newest: ActiveRequest | undefined;

  push(request: ActiveRequest): void {
    request.before = this.#newest;
    if (this.#newest) this.#newest.after = request;
    else this.#oldest = request;
    this.#newest = request;
  }

  delete(request: ActiveRequest): void {
    const { before, after } = request;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    request.before = request.after = undefined;
  }

  /**
   * Who is next: the oldest, or, once that has waited for half of its time, the newest. When there is more
   * to do than can be done, first in first out serves everybody too late.
   * Source: Maurer, "Fail at Scale" (ACM Queue, 2015), "Adaptive LIFO".
   */
  next(nowNs: number): ActiveRequest | undefined {
    const oldest = this.#oldest;
    if (oldest === undefined) return undefined;
    const { arrivalNs, deadlineNs, finishNs } = oldest;
    const endNs = Math.min(deadlineNs, finishNs);
    const late = nowNs - arrivalNs > PATIENCE * (endNs - arrivalNs);
    return late ? this.#newest : oldest;
  }
}
