/**
 * The buffers between stage executors. Pair j of executor s is buffer j before it (input) and buffer j
 * behind it (output), which is the input of executor s + 1.
 * Source: DVABatch, section 6.1.
 * A buffer is invalid when it cannot be an input now: what was made from its last content is still in
 * the buffer behind it. The mark stays while the buffer is written anew, so that the new content is not
 * taken before the old one's successor is.
 */

/** Buffers of a pipeline; stages count from 0. */
export class BufferPairs {
  readonly #inUse: ("no" | "reading" | "writing")[][];
  readonly #invalid: boolean[][];

  constructor(readonly pairs: number, readonly stages: number) {
    const each = <T>(value: T): T[][] =>
      Array.from({ length: stages + 1 }, () => new Array(pairs).fill(value));
    this.#inUse = each("no");
    this.#invalid = each(false);
  }

  /** State of buffer `pair` before executor `stage`. */
  state(
    stage: number,
    pair: number,
  ): "available" | "invalid" | "in-reading" | "in-writing" {
    const use = this.#inUse[stage][pair];
    if (use !== "no") return `in-${use}`;
    return this.#invalid[stage][pair] ? "invalid" : "available";
  }

  /** Both buffers available, or the input available and the output invalid. */
  isLegitimate(stage: number, pair: number): boolean {
    if (this.state(stage, pair) !== "available") return false;
    const output = this.state(stage + 1, pair);
    return output === "available" || output === "invalid";
  }

  /** Any legitimate pair of an executor but for some; -1 when there is none. */
  legitimate(stage: number, except: readonly number[] = []): number {
    for (let pair = 0; pair < this.pairs; pair++) {
      if (!except.includes(pair) && this.isLegitimate(stage, pair)) return pair;
    }
    return -1;
  }

  start(stage: number, pair: number): void {
    this.#inUse[stage][pair] = "reading";
    this.#inUse[stage + 1][pair] = "writing";
  }

  finish(stage: number, pair: number): void {
    this.#inUse[stage][pair] = "no";
    this.#inUse[stage + 1][pair] = "no";
    this.occupy(stage, pair);
  }

  /** Executor `stage` has put something into its output buffer: the input buffer has to wait for it. */
  occupy(stage: number, pair: number): void {
    // What the last executor writes leaves at once.
    if (stage < this.stages - 1) this.#invalid[stage][pair] = true;
  }

  /** What executor `stage` wrote has been read: its input buffer may be used again. */
  makeAvailable(stage: number, pair: number): void {
    if (stage >= 0) this.#invalid[stage][pair] = false;
  }
}
