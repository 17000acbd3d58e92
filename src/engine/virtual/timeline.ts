import { describe } from "../../base/describe.ts";
import { EventHeap } from "../../base/event_heap.ts";

interface Occurrence {
  readonly atNs: number;
  readonly rank: number;
  readonly run: () => void;
}

/**
 * Virtual time, in integer nanoseconds from 0: what happens when, and nothing in between.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Timeline } from "@shoal/core/simulate";
 *
 * const timeline = new Timeline();
 * const seen: string[] = [];
 * timeline.at(500, 1, () => seen.push("an arrival"));
 * timeline.at(500, 0, () => seen.push("a completion"));
 * assert(timeline.advance());
 * assert.deepEqual(seen, ["a completion", "an arrival"]);
 * assert.equal(timeline.nowNs, 500);
 * assert(!timeline.advance());
 * ```
 */
export class Timeline {
  readonly #events = new EventHeap<Occurrence>();
  #nowNs = 0;

  /** The time of what happens now, or happened last. */
  get nowNs(): number {
    return this.#nowNs;
  }

  /** Whether nothing is left to happen. */
  get isOver(): boolean {
    return this.#events.size === 0;
  }

  /**
   * Lets something happen at a time to come or right now.
   * @param rank order among what happens at one time: completions (0), arrivals (1), scheduling points (2); of one
   * rank in the order of the calls
   * @throws RangeError on what is no time, or one that is over
   */
  at(atNs: number, rank: 0 | 1 | 2, run: () => void): void {
    // A text would be joined to what is added to it.
    if (typeof atNs !== "number" || !(atNs >= this.#nowNs)) {
      throw new RangeError(
        `Event at ${
          describe(atNs)
        } ns: a time is a number, and it is ${this.#nowNs} ns already`,
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
