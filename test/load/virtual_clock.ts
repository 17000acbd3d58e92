import { setImmediate } from "node:timers/promises";
import type { LoadClock } from "../../src/load/wire.ts";

/** Time that goes by when nothing else is to be done. */
export class VirtualClock implements LoadClock {
  #nowNs = 0;
  #order = 0;
  readonly #events = new Map<
    number,
    { readonly atNs: number; readonly then: () => void }
  >();

  /** What happens in real time, and takes none here. */
  readonly #held = new Set<Promise<unknown>>();

  nowNs(): number {
    return this.#nowNs;
  }

  /** No time goes by until a promise is kept. */
  hold<T>(promise: Promise<T>): Promise<T> {
    this.#held.add(promise);
    const over = () => void this.#held.delete(promise);
    promise.then(over, over);
    return promise;
  }

  at(atNs: number, then: () => void): () => void {
    const id = this.#order++;
    this.#events.set(id, { atNs, then });
    return () => void this.#events.delete(id);
  }

  until(atNs: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const takeBack = this.at(atNs, resolve);
      stop?.addEventListener("abort", () => {
        takeBack();
        resolve();
      });
    });
  }

  turn(): Promise<void> {
    return this.until(this.#nowNs);
  }

  /** Lets time go by until a promise is kept. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    promise.finally(() => isOver = true).catch(() => {});
    for (;;) {
      // All that hangs on promises alone happens before a timer's turn comes.
      await setImmediate();
      if (isOver) return await promise;
      if (this.#held.size > 0) {
        await Promise.race(this.#held);
        continue;
      }
      const next = this.#next();
      if (next === undefined) throw new Error("nothing is left to happen");
      const { atNs, then } = this.#events.get(next)!;
      this.#events.delete(next);
      this.#nowNs = Math.max(this.#nowNs, atNs);
      then();
    }
  }

  #next(): number | undefined {
    let first: number | undefined;
    for (const [id, { atNs }] of this.#events) {
      if (first === undefined || atNs < this.#events.get(first)!.atNs) {
        first = id;
      }
    }
    return first;
  }
}
