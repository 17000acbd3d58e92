/** Time that a test moves. */
import { EventHeap, RANK } from "../../../src/base/event_heap.ts";
import type { TimeSource } from "../../../src/server/admission/time_source.ts";

interface Call {
  readonly atNs: number;
  readonly rank: number;
  call: (() => void) | undefined;
}

export class VirtualTime implements TimeSource {
  readonly #calls = new EventHeap<Call>();
  #nowNs = 0;

  nowNs(): number {
    return this.#nowNs;
  }

  at(ns: number, call: () => void): () => void {
    if (ns === Infinity) return () => {};
    const event: Call = {
      atNs: Math.max(ns, this.#nowNs),
      rank: RANK.schedule,
      call,
    };
    this.#calls.push(event);
    return () => event.call = undefined;
  }

  /** Does what is due until then, in order, and lets promises settle in between. */
  async until(ns: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#calls.peek();
      if (next === undefined || next.atNs > ns) break;
      this.#calls.pop();
      this.#nowNs = next.atNs;
      next.call?.();
    }
    this.#nowNs = ns;
  }
}

/** Microtasks that were queued, and what they queued, have run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 8; i++) await undefined;
}
