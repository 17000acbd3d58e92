/**
 * The stages of one model with their executors, batch queues and buffer pairs.
 * Source: DVABatch, sections 4-6, Fig. 7, 8, 12.
 * Assumption: a stage has one executor, on a worker of its own (the paper's CUDA stream); with fewer
 * workers than stages they share, later stages first. A model that is one stage has an executor on every
 * worker, as its batches cannot overlap otherwise (Fig. 3, case I).
 */
import { Fifo } from "../../base/fifo.ts";
import type { Note } from "../launch.ts";
import {
  type Batch,
  type Item,
  type Query,
  QueryTable,
  type SplitManner,
} from "./query_table.ts";
import { BufferPairs } from "./buffer_pairs.ts";
import type { AdmitChoice, DvaSchedule } from "./schedule.ts";
import { StageExecutor } from "./stage_executor.ts";
import type { Stage } from "./stages.ts";

export interface PipelineOptions {
  /** Unique among the pipelines of a policy. */
  id: number;
  stages: readonly Stage[];
  schedule: DvaSchedule;
  pairs: number;
  batchSizeMax: number;
  workers: number;
  splitManner: SplitManner;
}

/** Something to execute: queries of a batch, through a stage. */
export interface Work {
  readonly executor: StageExecutor;
  readonly item: Item;
  readonly queries: readonly Query[];
}

export class Pipeline {
  readonly waiting = new Fifo<Query>();
  readonly table: QueryTable;
  readonly pairs: BufferPairs;
  /** By stage. */
  readonly executors: StageExecutor[][];
  /** What was done since the last launch. */
  notes: Note[] = [];
  readonly #options: PipelineOptions;
  readonly #lastToFirst: readonly StageExecutor[];
  #inFlight = 0;

  constructor(options: PipelineOptions) {
    const { stages: { length: stages }, workers, pairs, splitManner } = options;
    this.#options = options;
    this.table = new QueryTable(stages, splitManner);
    this.pairs = new BufferPairs(pairs, stages);
    const executor = (stage: number, worker: number) =>
      new StageExecutor(stage, worker, this.pairs, this.table);
    this.executors = stages === 1
      ? [Array.from({ length: workers }, (_, worker) => executor(0, worker))]
      : options.stages.map((_, stage) => [executor(stage, stage % workers)]);
    this.#lastToFirst = this.executors.toReversed().flat();
  }

  get id(): number {
    return this.#options.id;
  }

  get stages(): readonly Stage[] {
    return this.#options.stages;
  }

  /** Id of the oldest request that waits for an executor; Infinity when none does. */
  get oldest(): number {
    let oldest = this.waiting.first?.request.id ?? Infinity;
    for (const queue of this.table.queues) {
      for (const { batch, start } of queue) {
        oldest = Math.min(oldest, batch.queries[start].request.id);
      }
    }
    return oldest;
  }

  /**
   * Whatever can be done now, until something is to be executed.
   * @returns work, or when to ask again at the latest
   */
  next(
    nowNs: number,
    isIdle: (worker: number) => boolean,
  ): Work | { untilNs: number; why: string } | undefined {
    for (;;) {
      for (const executor of this.#lastToFirst) executor.wake();
      this.#admit(nowNs, isIdle, ["stretch"]);
      let work: Work | undefined;
      for (let stage = this.stages.length - 1; stage > 0 && !work; stage--) {
        work = this.#poll(stage, isIdle);
      }
      if (!work) {
        const wait = this.#admit(nowNs, isIdle, ["new", "wait"]);
        work = this.#poll(0, isIdle);
        if (!work) return wait;
      }
      const { batch } = work.item;
      if (Number.isNaN(batch.startedNs)) batch.startedNs = nowNs;
      if (work.queries.length > 0) return work;
      this.finish(work); // Everybody has been cancelled.
    }
  }

  /** A run has ended: Fig. 12, line 6 on. */
  finish({ executor, item }: Work): void {
    const { stage } = executor;
    if (stage === this.stages.length - 1) this.#inFlight -= item.num;
    const completed = this.table.complete(stage, item);
    let out: Item[] = [];
    if (completed) {
      for (const { pair } of completed.merged) {
        // Its content has moved to the buffer of the item it is merged into.
        this.pairs.makeAvailable(stage, pair);
      }
      out = this.#split(stage, completed.out);
    }
    executor.finish(item, out);
  }

  #split(stage: number, item: Item): Item[] {
    const { batch, start, num } = item;
    const sizes = start === 0
      ? this.#options.schedule.split(num, stage)
      : [num];
    if (sizes.length === 1) return [item];
    const items = this.table.split(stage, item, sizes);
    this.#note("split", batch.queries, `into ${sizes} after stage ${stage}`);
    return items;
  }

  #poll(
    stage: number,
    isIdle: (worker: number) => boolean,
  ): Work | undefined {
    for (const executor of this.executors[stage]) {
      if (!isIdle(executor.worker)) continue;
      const item = executor.poll();
      if (item === undefined) continue;
      const { batch, start, num } = item;
      const queries = batch.queries.slice(start, start + num).filter((query) =>
        !query.ended
      );
      return { executor, item, queries };
    }
    return undefined;
  }

  /** Asks the schedule and does what it says, if that is one of `ops`. */
  #admit(
    nowNs: number,
    isIdle: (worker: number) => boolean,
    ops: readonly AdmitChoice["op"][],
  ): { untilNs: number; why: string } | undefined {
    const { table, waiting } = this;
    while (waiting.size > 0) {
      const latest = table.latest;
      const room = latest ? this.#stretchRoom(latest) : 0;
      const admission = this.#options.schedule.admit({
        nowNs,
        waiting,
        inFlight: this.#inFlight,
        canStart: table.queues[0].length === 0 &&
          this.executors[0].some(({ state, worker }) =>
            state === "active" && isIdle(worker)
          ),
        ...(room > 0 &&
          {
            stretchable: {
              size: latest!.queries.length,
              room,
              startedNs: latest!.startedNs,
            },
          }),
      });
      if (!admission || !ops.includes(admission.op)) return undefined;
      if (admission.op === "wait") return admission;
      if (admission.op === "stretch") {
        const { queries, why } = admission;
        this.#enter(queries);
        table.stretch(latest!, queries);
        this.#foresee(latest!);
        this.#note("stretch", queries, why);
      } else {
        for (const queries of admission.groups) {
          this.#enter(queries);
          this.#foresee(table.new(queries, nowNs));
          this.#note("new", queries, admission.why);
        }
      }
    }
    return undefined;
  }

  #enter(queries: readonly Query[]): void {
    for (const query of queries) {
      query.batched = true;
      this.waiting.delete(query);
    }
    this.#inFlight += queries.length;
  }

  /** A split that the schedule will want forbids to stretch (section 5.2.2). */
  #foresee(batch: Batch): void {
    const { schedule } = this.#options;
    for (let stage = 0; stage < this.stages.length - 1; stage++) {
      if (schedule.split(batch.queries.length, stage).length > 1) {
        batch.fixed = true;
      }
    }
  }

  /**
   * How many queries the latest batch may be stretched by.
   * Assumption: every part of a batch that is on its way needs a buffer pair of its own until it has
   * caught up, so there are at most as many parts as pairs; and who has begun the last stage is not
   * caught up with.
   */
  #stretchRoom(batch: Batch): number {
    const { queues } = this.table;
    const room = this.#options.batchSizeMax - batch.queries.length;
    if (batch.fixed || room <= 0) return 0;
    const waits = (stage: number) =>
      queues[stage].some((item) => item.batch === batch);
    if (waits(0)) return room;
    const last = this.stages.length - 1;
    if (batch.issued[last] > 0 && !(last > 0 && waits(last))) return 0;
    return batch.parts < this.pairs.pairs ? room : 0;
  }

  #note(op: Note["op"], queries: readonly Query[], why: string): void {
    const requests = queries.map(({ request }) => request.id);
    this.notes.push({ op, requests, why });
  }
}
