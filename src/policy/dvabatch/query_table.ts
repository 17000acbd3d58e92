/**
 * Batch table and batch queues: what `new`, `stretch` and `split` mean.
 * Source: DVABatch, section 5.2, Fig. 8. Stages count from 0.
 */
import type { Request } from "../request.ts";

/** A request inside a pipeline; its tag. A query that has ended keeps its place in its batch. */
export interface Query {
  /** The request that it is. */
  readonly request: Request;
  /** It is in a batch, not waiting for one. */
  batched: boolean;
  /** The request needs nothing more. */
  ended: boolean;
}

/** A row of the batch table. */
export interface Batch {
  readonly id: number;
  /** `bs` of them. */
  readonly queries: Query[];
  /** `time`: when it was created. */
  readonly createdNs: number;
  /** Start of its first run; NaN before. */
  startedNs: number;
  /** `status_map`: queries that have completed each stage. */
  readonly completed: number[];
  /** Queries that were handed to each stage: queued, running or done. */
  readonly issued: number[];
  /** Items on their way. */
  parts: number;
  /** Their buffer pairs: each has one of its own, or those ahead would wait for those behind. */
  readonly pairs: number[];
  /** A split is foreseen, or it came from one: it is never stretched (section 5.2.2). */
  fixed: boolean;
  /** What runs in turn: the parts of a split with each other, in order, until each has left; otherwise itself. */
  line: Batch[];
}

/**
 * How the parts of a split run. "serial": each starts when the one before has left the last stage, which is what
 * gives the 2.875 T of Fig. 3, case II (stage by stage in turn it would be 3.625 T); "parallel": as a pipeline,
 * like batches that were never one.
 */
export const SPLIT_MANNERS = ["serial", "parallel"] as const;

export type SplitManner = (typeof SPLIT_MANNERS)[number];

/** An entry of a batch queue: queries [start, start + num) of a batch. */
export interface Item {
  readonly batch: Batch;
  readonly start: number;
  num: number;
  /** Buffer pair that holds its input; -1 before the first stage. */
  pair: number;
}

export class QueryTable {
  /** In order of creation. */
  readonly batches: Batch[] = [];
  /** Batch queues, by the stage that pulls from them. */
  readonly queues: Item[][];
  /** Items that wait behind a stage until the rest of their stretched batch has caught up. */
  readonly held: Item[][];
  #ids = 0;

  constructor(
    readonly stages: number,
    readonly splitManner: SplitManner = "serial",
  ) {
    this.queues = Array.from({ length: stages }, () => []);
    this.held = Array.from({ length: stages }, () => []);
  }

  /** The batch created last; only it may be stretched. A split's children are as old as it was. */
  get latest(): Batch | undefined {
    let latest: Batch | undefined;
    for (const batch of this.batches) {
      if (latest === undefined || batch.createdNs >= latest.createdNs) {
        latest = batch;
      }
    }
    return latest;
  }

  /** `new`: a row in the table and an item for the first executor. */
  new(queries: readonly Query[], nowNs: number): Batch {
    const batch = this.#add(queries, nowNs, NaN, -1);
    this.queues[0].push({ batch, start: 0, num: queries.length, pair: -1 });
    batch.issued[0] = queries.length;
    return batch;
  }

  /**
   * `stretch`: adds queries; they run on their own until they have caught up. What of the batch is
   * queued but not running waits for them.
   */
  stretch(batch: Batch, queries: readonly Query[]): void {
    const start = batch.queries.length;
    for (const query of queries) batch.queries.push(query);
    batch.issued[0] += queries.length;
    const waiting = this.queues[0].find((item) => item.batch === batch);
    if (waiting) {
      waiting.num += queries.length;
      return;
    }
    for (let stage = 1; stage < this.stages; stage++) {
      const queue = this.queues[stage];
      for (const item of queue.filter((item) => item.batch === batch)) {
        queue.splice(queue.indexOf(item), 1);
        batch.issued[stage] -= item.num;
        this.held[stage - 1].push(item);
      }
    }
    this.queues[0].push({ batch, start, num: queries.length, pair: -1 });
    batch.parts++;
  }

  /**
   * An executor has run an item. Unless others of the batch are to catch up, everything behind this
   * stage goes on as one.
   * @returns what goes on, `undefined` when it waits or has left; and the items merged into it
   */
  complete(
    stage: number,
    item: Item,
  ): { out: Item; merged: Item[] } | undefined {
    const { batch, pair } = item;
    batch.completed[stage] += item.num;
    const isWhole = batch.completed[stage] === batch.queries.length;
    if (stage === this.stages - 1) {
      if (isWhole) {
        this.#remove(batch);
        batch.line.splice(batch.line.indexOf(batch), 1);
      }
      return undefined;
    }
    if (!isWhole) {
      this.held[stage].push(item);
      return undefined;
    }
    const merged = this.held[stage].filter((other) => other.batch === batch);
    this.held[stage] = this.held[stage].filter((other) =>
      other.batch !== batch
    );
    batch.parts -= merged.length;
    for (const other of merged) {
      batch.pairs.splice(batch.pairs.indexOf(other.pair), 1);
    }
    const start = batch.issued[stage + 1];
    const num = batch.queries.length - start;
    return { out: { batch, start, num, pair }, merged };
  }

  /** Whether its turn among the parts of a split has come. */
  isDue({ batch }: Item): boolean {
    return batch.line[0] === batch;
  }

  /** Hands an item to the next stage. */
  push(stage: number, item: Item): void {
    item.batch.issued[stage] += item.num;
    this.queues[stage].push(item);
  }

  /**
   * `split` behind a stage: the batch's row gives way to one per child.
   * @param sizes of the children, in order; they sum to the batch's size
   * @returns an item per child; only the first has a pair yet
   */
  split(
    stage: number,
    { batch, pair }: Item,
    sizes: readonly number[],
  ): Item[] {
    this.#remove(batch);
    let start = 0;
    const items = sizes.map((size, i) => {
      const queries = batch.queries.slice(start, start += size);
      const child = this.#add(
        queries,
        batch.createdNs,
        batch.startedNs,
        stage,
      );
      child.fixed = true;
      return { batch: child, start: 0, num: size, pair: i === 0 ? pair : -1 };
    });
    if (this.splitManner === "serial") {
      const { line } = batch;
      const parts = items.map((item) => item.batch);
      line.splice(line.indexOf(batch), 1, ...parts);
      for (const part of parts) part.line = line;
    }
    return items;
  }

  #add(
    queries: readonly Query[],
    createdNs: number,
    startedNs: number,
    completedStage: number,
  ): Batch {
    const done = Array.from(
      { length: this.stages },
      (_, stage) => stage <= completedStage ? queries.length : 0,
    );
    const batch: Batch = {
      id: this.#ids++,
      queries: [...queries],
      createdNs,
      startedNs,
      completed: done,
      issued: [...done],
      parts: 1,
      pairs: [],
      fixed: false,
      line: [],
    };
    batch.line.push(batch);
    this.batches.push(batch);
    return batch;
  }

  #remove(batch: Batch): void {
    this.batches.splice(this.batches.indexOf(batch), 1);
  }
}
