/**
 * Event level: tiles through DRAM, scratchpads, array and vector unit.
 *
 * Four resources work at the same time, each on one thing after another: the DRAM port, the array,
 * the vector unit. A tile's operands are loaded (unless they are still there), it streams through
 * the array, the vector unit passes over its results, they are written back. An operand and the
 * results have two tile slots each: a slot is free again when the array can take the next tile (operands;
 * the skew registers lie between scratchpad and array) or is written back (results). Operands that are kept
 * are fetched no further ahead than that either. The port serves requests in a fixed order: a tile's loads,
 * then the write-back of the tile before the last, whose results cannot be there before the loads can start.
 *
 * Because the order is fixed, every time is a maximum of sums of durations: less transfer time, or
 * fewer loads, can never make anything later. And a loop whose times have all moved on by the
 * same amount in two pairs of rounds will go on doing so: the rest is added in one go, exactly.
 *
 * Assumption: writes are posted; the layer ends when the port has taken the last byte.
 */
import type { FoldGrid } from "../dataflow.ts";
import type { DramTiming } from "./dram.ts";

/** One tile, all times in ticks. */
export interface Step {
  /** Bytes to load before it starts; 0 if the operand is on chip already. */
  ifmapBytes: number;
  filterBytes: number;
  /** Bytes to write back once its results are complete; 0 while partial sums stay. */
  ofmapBytes: number;
  /** From its first streamed word to the next tile's, at the earliest. */
  occupancyTicks: number;
  /** From its first streamed word until its last result has left the array. */
  durationTicks: number;
  /** From its first streamed word until the first sum of every column has left the array. */
  firstSumsTicks: number;
  vectorTicks: number;
  /** The results are complete after this tile (its last along k). */
  completes: boolean;
  /** What the array does; absent for streams of the vector unit. */
  tile?: TileFolds;
}

/** A tile as the array sees it. */
export interface TileFolds {
  /** The GEMM of one copy, laid on the array. */
  grid: FoldGrid;
  copies: number;
  mode: "causal" | "overlapped";
  /** Its sums are added to the tile's before along k. */
  adds: boolean;
  /** Its sums are complete (the last tile along k). */
  completes: boolean;
}

/** Steps in loops. */
export type Program = readonly (Step | Loop)[];
export interface Loop {
  rounds: number;
  body: Program;
}

export interface PipelineOptions {
  dram: DramTiming;
  /** Ticks the resident operand has to be there before the first streamed word (overlapped ws, is). */
  preloadTicks: number;
  preloaded: "ifmap" | "filter";
}

export interface PipelineResult {
  endTicks: number;
  /** Time the array and the vector unit have work, were there no waiting. */
  arrayTicks: number;
  vectorTicks: number;
  dramBusyTicks: number;
  bytesRead: number;
  bytesWritten: number;
  requests: number;
  steps: number;
}

/** The times the next step depends on, in one array so that a loop can compare and move them. */
const PORT_FREE = 0;
const ARRAY_FREE = 1;
const VECTOR_FREE = 2;
/** Per operand: when its current load is there, when the slot of the next load is free, and the current's. */
const IFMAP = 3;
const FILTER = 6;
/** When the last completed results, and those before, have passed the vector unit and are written. */
const PASSED_LAST = 9;
const PASSED_BEFORE = 10;
const WRITTEN_LAST = 11;
const WRITTEN_BEFORE = 12;
/** When the results of the last step, and of the one before, can be written. */
const RESULT_LAST = 13;
const RESULT_BEFORE = 14;
const TIMES = 15;

/** Runs a program of steps. */
export function runPipeline(
  program: Program,
  options: PipelineOptions,
): PipelineResult {
  const pipeline = new Pipeline(options);
  pipeline.run(program);
  return pipeline.finish();
}

class Pipeline {
  readonly #times = new Float64Array(TIMES);
  readonly #options: PipelineOptions;
  /** What adds up; a loop's later rounds add the same again. */
  #sums: PipelineResult;
  /** Bytes of the last two steps that wait to be written: the port's order is fixed. */
  #bytesLast = 0;
  #bytesBefore = 0;
  #leftArray = 0;
  /** From when the next step may start until the last result of this one has left the array. */
  #tail = 0;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#sums = {
      endTicks: 0,
      arrayTicks: options.preloadTicks,
      vectorTicks: 0,
      dramBusyTicks: 0,
      bytesRead: 0,
      bytesWritten: 0,
      requests: 0,
      steps: 0,
    };
  }

  run(program: Program): void {
    for (const part of program) {
      if ("body" in part) this.#loop(part);
      else this.#step(part);
    }
  }

  finish(): PipelineResult {
    const times = this.#times;
    this.#writeBack();
    this.#writeBack();
    const endTicks = Math.max(
      this.#leftArray,
      times[VECTOR_FREE],
      times[WRITTEN_LAST],
    );
    return {
      ...this.#sums,
      endTicks,
      arrayTicks: this.#sums.arrayTicks + this.#tail,
    };
  }

  /**
   * Rounds are compared in pairs: where two slots wait for the latency, loads come two by two, and
   * single rounds are not alike.
   */
  #loop({ rounds, body }: Loop): void {
    const pairs = Math.floor(rounds / 2);
    let movedBefore: number | undefined;
    for (let pair = 0; pair < pairs; pair++) {
      const before = this.#times.slice();
      const sums = this.#sums;
      const waiting = [this.#bytesLast, this.#bytesBefore];
      this.#sums = { ...sums };
      this.run(body);
      this.run(body);
      const moved =
        waiting[0] === this.#bytesLast && waiting[1] === this.#bytesBefore
          ? this.#moved(before)
          : undefined;
      if (moved !== undefined && moved === movedBefore) {
        this.#repeat(pairs - pair - 1, { moved, before, sums });
        break;
      }
      movedBefore = moved;
    }
    if (rounds % 2 === 1) this.run(body);
  }

  /**
   * By how much all times have moved on, or undefined if they differ. A time that has not moved and
   * is before all the array still does was not touched, and nothing can wait for it any more.
   */
  #moved(before: Float64Array): number | undefined {
    const times = this.#times;
    const moved = times[ARRAY_FREE] - before[ARRAY_FREE];
    if (moved <= 0) return undefined;
    for (let i = 0; i < TIMES; i++) {
      const untouched = times[i] === before[i] &&
        before[i] <= before[ARRAY_FREE];
      if (times[i] - before[i] !== moved && !untouched) return undefined;
    }
    return moved;
  }

  #repeat(
    rounds: number,
    { moved, before, sums }: {
      moved: number;
      before: Float64Array;
      sums: PipelineResult;
    },
  ): void {
    for (let i = 0; i < TIMES; i++) {
      if (this.#times[i] !== before[i]) this.#times[i] += rounds * moved;
    }
    this.#leftArray += rounds * moved;
    for (const key of Object.keys(sums) as (keyof PipelineResult)[]) {
      this.#sums[key] += rounds * (this.#sums[key] - sums[key]);
    }
  }

  #step(step: Step): void {
    const times = this.#times;
    const { preloadTicks, preloaded } = this.#options;
    this.#load(FILTER, step.filterBytes);
    this.#load(IFMAP, step.ifmapBytes);
    this.#writeBack();
    this.#tail = step.durationTicks - step.occupancyTicks;
    const start = Math.max(
      times[ARRAY_FREE],
      times[IFMAP] + (preloaded === "ifmap" ? preloadTicks : 0),
      times[FILTER] + (preloaded === "filter" ? preloadTicks : 0),
      // The accumulators hold two tiles: this one's first sums come when the tile before the last has
      // passed. Columns are filled and passed with the same skew, so the last one stands for all.
      times[PASSED_BEFORE] - step.firstSumsTicks,
    );
    times[ARRAY_FREE] = start + step.occupancyTicks;
    this.#leftArray = start + step.durationTicks;
    if (step.completes) {
      // The write-back of the tile before is still to come if it is the step before: then the slot of
      // this tile's results is that of the last one written, else of the one before.
      const slotFree = times[
        this.#bytesBefore > 0 ? WRITTEN_LAST : WRITTEN_BEFORE
      ];
      times[VECTOR_FREE] =
        Math.max(times[VECTOR_FREE], this.#leftArray, slotFree) +
        step.vectorTicks;
      times[PASSED_BEFORE] = times[PASSED_LAST];
      times[PASSED_LAST] = times[VECTOR_FREE];
    }
    // What the array does not take in, the vector unit reads from the scratchpad.
    const taken = step.tile === undefined ? VECTOR_FREE : ARRAY_FREE;
    times[IFMAP + 2] = times[taken];
    times[FILTER + 2] = times[taken];
    times[RESULT_LAST] = times[VECTOR_FREE];
    this.#bytesLast = step.ofmapBytes;
    this.#sums.arrayTicks += step.occupancyTicks;
    this.#sums.vectorTicks += step.vectorTicks;
    this.#sums.steps++;
  }

  #load(operand: number, bytes: number): void {
    if (bytes === 0) return;
    const times = this.#times;
    const current = times[operand + 2];
    times[operand] = this.#transfer(bytes, times[operand + 1]) +
      this.#options.dram.latencyTicks;
    times[operand + 2] = times[operand + 1];
    times[operand + 1] = current;
    this.#sums.bytesRead += bytes;
  }

  /** Writes the results of the step before the last. */
  #writeBack(): void {
    const times = this.#times;
    if (this.#bytesBefore > 0) {
      times[WRITTEN_BEFORE] = times[WRITTEN_LAST];
      times[WRITTEN_LAST] = this.#transfer(
        this.#bytesBefore,
        times[RESULT_BEFORE],
      );
      this.#sums.bytesWritten += this.#bytesBefore;
    }
    times[RESULT_BEFORE] = times[RESULT_LAST];
    this.#bytesBefore = this.#bytesLast;
    this.#bytesLast = 0;
  }

  #transfer(bytes: number, earliest: number): number {
    const times = this.#times;
    const { dram } = this.#options;
    const ticks = dram.transferTicks(bytes);
    times[PORT_FREE] =
      (dram.ideal ? earliest : Math.max(times[PORT_FREE], earliest)) + ticks;
    this.#sums.dramBusyTicks += ticks;
    this.#sums.requests++;
    return times[PORT_FREE];
  }
}
