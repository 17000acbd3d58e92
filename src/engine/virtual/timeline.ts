import { EventHeap, type RANK } from "../../base/event_heap.ts";

interface Occurrence {
  readonly atNs: number;
  readonly rank: number;
  readonly run: () => void;
}

/** Virtual time: what happens when, and nothing in between. */
export class Timeline {
  readonly #events = new EventHeap<Occurrence>();
  #nowNs = 0;

  get nowNs(): number {
    return this.#nowNs;
  }

  /** Lets something happen at a time to come or right now. */
  at(
    atNs: number,
    rank: (typeof RANK)[keyof typeof RANK],
    run: () => void,
  ): void {
    if (!(atNs >= this.#nowNs)) {
      throw new RangeError(
        `Event at ${atNs} ns, but it is ${this.#nowNs} ns already`,
      );
    }
    this.#events.push({ atNs, rank, run });
  }

  /**
   * Jumps to the next time at which something happens and lets all of it happen, in order of rank.
   * @returns false when nothing is left to happen
   */
  advance(): boolean {
    const next = this.#events.peek();
    if (next === undefined) return false;
    this.#nowNs = next.atNs;
    while (this.#events.peek()?.atNs === this.#nowNs) this.#events.pop()!.run();
    return true;
  }
}
