/**
 * A stage's executor and its four states.
 * Source: DVABatch, section 6.2, Fig. 11 (the diagram is read from the text, the figure being damaged),
 * and the loop of Fig. 12; line numbers below are Fig. 12's.
 *
 *   active ──takes a batch with pair j──> checking ──j legitimate──> working ──done──┐
 *     ^                                      └──j not──> inactive ──j legitimate──> working
 *     └──another legitimate pair (always: the last executor)── inactive <────────────┘
 *
 * Only on becoming active again does it let the executor before it use the input buffer of the pair it
 * has finished with. With one pair, therefore, all executors run in turn.
 */
import type { Item, QueryTable } from "./query_table.ts";
import type { BufferPairs } from "./buffer_pairs.ts";

export type ExecutorState = "active" | "checking" | "working" | "inactive";

export class StageExecutor {
  state: ExecutorState = "active";
  /** Being checked, or checked and waiting for its pair, or worked on. */
  taken: Item | undefined = undefined;
  /** Children of a split that have no buffer yet. */
  readonly #outbox: Item[] = [];
  #finishedPair = -1;
  readonly #isLast: boolean;

  constructor(
    readonly stage: number,
    readonly worker: number,
    readonly pairs: BufferPairs,
    readonly table: QueryTable,
  ) {
    this.#isLast = stage === pairs.stages - 1;
  }

  /** From inactive to active, when its pairs allow it (l. 9 and 10). */
  wake(): void {
    const { stage, pairs, table } = this;
    if (this.state !== "inactive" || this.taken) return;
    while (this.#outbox.length > 0) { // l. 7
      const pair = pairs.legitimate(stage);
      if (pair < 0) return;
      const item = this.#outbox.shift()!;
      item.pair = pair;
      pairs.occupy(stage, pair);
      table.push(stage + 1, item); // l. 8
    }
    if (!this.#isLast && pairs.legitimate(stage) < 0) return; // l. 9
    this.state = "active";
    if (this.#finishedPair < 0) return;
    pairs.makeAvailable(stage - 1, this.#finishedPair); // l. 10
    this.#finishedPair = -1;
  }

  /** Takes a batch and checks its pair. @returns the item to execute now, if there is one */
  poll(): Item | undefined {
    const { stage, pairs } = this;
    if (this.state === "active") {
      const queue = this.table.queues[stage];
      const item = queue[0]; // l. 3
      if (item === undefined || !this.table.isDue(item)) return undefined;
      if (item.pair < 0) { // The first executor gives it one that it may be active with.
        item.pair = pairs.legitimate(stage, item.batch.pairs);
        if (item.pair < 0) return undefined;
        item.batch.pairs.push(item.pair);
      }
      queue.shift();
      this.taken = item;
      this.state = "checking"; // l. 4
    }
    const item = this.taken;
    if (item === undefined || this.state === "working") return undefined;
    if (!pairs.isLegitimate(stage, item.pair)) {
      this.state = "inactive";
      return undefined;
    }
    this.state = "working"; // l. 5
    pairs.start(stage, item.pair);
    return item;
  }

  /** The item is executed; `out` goes on to the next stage (l. 7, 8). */
  finish(item: Item, out: readonly Item[]): void {
    this.pairs.finish(this.stage, item.pair);
    this.#finishedPair = item.pair;
    this.taken = undefined;
    this.state = "inactive";
    for (const next of out) {
      if (next.pair >= 0) this.table.push(this.stage + 1, next);
      else this.#outbox.push(next);
    }
  }
}
