/**
 * Turns of requests that the engine had no room for and that their admission lets in again at once: nothing has changed
 * since, and to try costs as much as a request that is taken. Each waits until something has ended, one for each end,
 * first come first served; as room comes of other things, too, such as streams that are closed, one goes now and then.
 */
import { Fifo } from "../../base/fifo.ts";
import { wallNs } from "../../engine/wall/clock.ts";
import type { HostRequest } from "./host_request.ts";

/** From one to the next without an end; also how late a client that leaves, or a deadline, may be noticed. */
const TICK_MS = 50;

interface Waiting {
  readonly request: HostRequest;
  readonly go: () => void;
}

/** Of one host. */
export class RoomTurns {
  /** Requests that have ended so far. */
  ends = 0;
  readonly #waiting = new Fifo<Waiting>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** A request has ended. */
  ended(): void {
    this.ends++;
    this.#next();
  }

  /**
   * Waits for the request's turn.
   * @param ends when it found no room: where something has ended since, it is its turn
   */
  wait(request: HostRequest, ends: number): Promise<void> {
    if (this.ends > ends) return Promise.resolve();
    return new Promise((go) => {
      this.#waiting.push({ request, go });
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    });
  }

  #next(): void {
    this.#waiting.shift()?.go();
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    for (let i = this.#waiting.size; i > 0; i--) {
      const one = this.#waiting.shift()!;
      const { signal, finishNs } = one.request;
      if (signal?.aborted || finishNs <= wallNs()) one.go();
      else this.#waiting.push(one);
    }
    this.#next();
  }
}
