/**
 * E-Ebird's offline phase: which workers serve a load best, and the engine that has them all.
 * Source: E2bird, section 7.3.1, Eq. 6 and section 7.3.2, Table 4.
 */
import {
  checkedOptions,
  type Checks,
  integer,
  listOf,
  nonNegative,
  ofType,
  oneOf,
  positiveInteger,
} from "../../base/checked_options.ts";
import { shorten } from "../../base/describe.ts";
import type { WorkerCounts } from "./idle_workers.ts";

/** The mixes of Table 4, for ResNet-152 on a Titan RTX. */
export const RES152_CONFIGURATIONS: Readonly<Record<number, WorkerCounts>> = {
  4: [0, 0, 1, 0, 0, 0],
  8: [0, 0, 0, 1, 0, 0],
  16: [0, 0, 2, 1, 0, 0],
  32: [0, 0, 0, 2, 1, 0],
};

/** Every way to make up `totalBS` of workers of sizes 1, 2, ..., 2^(sizes - 1) (Eq. 6). */
export function combinations(totalBS: number, sizes: number): number[][] {
  const found: number[][] = [];
  const counts = new Array<number>(sizes).fill(0);
  const choose = (n: number, rest: number): void => {
    if (n === 0) {
      counts[0] = rest;
      found.push([...counts]);
      return;
    }
    for (let count = 0; count * 2 ** n <= rest; count++) {
      counts[n] = count;
      choose(n - 1, rest - count * 2 ** n);
    }
    counts[n] = 0;
  };
  choose(sizes - 1, totalBS);
  return found;
}

/** Sizes of the workers, ascending. */
export function workerSizes(counts: WorkerCounts): number[] {
  return counts.flatMap((count, n) => new Array<number>(count).fill(2 ** n));
}

/**
 * What a mix is judged by, of the latencies of workers that start together; the least is best.
 * "worker": the mean over workers, large or small (section 7.3.1, literally); "inference": the mean over
 * inferences, a worker counting as often as it has rows; "last": the time until all are done.
 */
export type SearchObjective = "worker" | "inference" | "last";

function judge(
  objective: SearchObjective,
  latenciesNs: readonly number[],
  sizes: readonly number[],
): number {
  switch (objective) {
    case "worker":
      return sum(latenciesNs) / latenciesNs.length;
    case "inference":
      return sum(latenciesNs.map((ns, i) => ns * sizes[i])) / sum(sizes);
    case "last":
      return largest(latenciesNs);
  }
}

/** Not by a spread: a call takes only so many arguments. */
function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Options of `searchConfigurations`. */
export interface SearchOptions {
  /** Loads that are profiled; default 4, 8, 16, 32 (section 7.3.2). */
  totals?: readonly number[];
  /** Different worker sizes, from 1 on; default 6. */
  sizes?: number;
  /** Default "worker". */
  objective?: SearchObjective;
  /** Latency of each of the workers, all started at once, ns. */
  latenciesNs: (workerSizes: readonly number[]) => readonly number[];
}

/** Sizes are powers of two; those of more are no 32-bit integers. */
const SIZES_MAX = 31;

const SEARCH_CHECKS: Checks<SearchOptions> = {
  totals: listOf(positiveInteger),
  sizes: integer(1, SIZES_MAX),
  objective: oneOf(
    ["worker", "inference", "last"] satisfies SearchObjective[],
  ),
  latenciesNs: ofType("function"),
};

const checkLatencies = listOf(nonNegative);

const checkCounts = listOf(integer(0, 2 ** SIZES_MAX));

/**
 * E-Ebird's offline phase: profiles all combinations of workers that make up a load, and keeps the best one. Of
 * equals the one with fewer workers wins.
 * Source: E2bird, section 7.3.1, Eq. 6.
 * @returns by load (TotalBS), how many workers of sizes 1, 2, 4, ...; the option `configurations` of `eEbird`
 * @throws TypeError or RangeError on an option that is not one, and on what `latenciesNs` returns if that are not as many
 * times as it was given workers
 *
 * @example Workers that share a device: each fills a sixteenth of it per row
 * ```ts
 * import assert from "node:assert/strict";
 * import { coRunNs, searchConfigurations } from "@shoal/core/simulate";
 *
 * const configurations = searchConfigurations({
 *   totals: [2, 4],
 *   sizes: 3,
 *   latenciesNs: (sizes) =>
 *     coRunNs(sizes.map((size) => ({ aloneNs: 100, demand: size / 16 }))),
 * });
 * assert.deepEqual(configurations, { 2: [0, 1, 0], 4: [0, 0, 1] });
 * ```
 */
export function searchConfigurations(
  options: SearchOptions,
): Record<number, number[]> {
  const {
    totals = [4, 8, 16, 32],
    sizes = 6,
    objective = "worker",
    latenciesNs,
  } = checkedOptions("searchConfigurations()", options, SEARCH_CHECKS, [
    "latenciesNs",
  ]);
  const checkedLatencies = (workers: readonly number[]) => {
    const found = latenciesNs(workers);
    checkLatencies("latenciesNs()", found);
    if (found.length !== workers.length) {
      throw new RangeError(
        `"latenciesNs()" is as many as there are workers, ${workers.length}, got ${found.length}`,
      );
    }
    return found;
  };
  const best: Record<number, number[]> = {};
  for (const totalBS of totals) {
    let bestNs = Infinity;
    let bestWorkers = Infinity;
    for (const counts of combinations(totalBS, sizes)) {
      const workers = workerSizes(counts);
      const ns = judge(objective, checkedLatencies(workers), workers);
      const isBetter = ns < bestNs ||
        ns === bestNs && workers.length < bestWorkers;
      if (!isBetter) continue;
      best[totalBS] = counts;
      bestNs = ns;
      bestWorkers = workers.length;
    }
  }
  return best;
}

/** A configuration with the workers of size 1 and 2 that are kept by default. */
export function withDefaults(counts: WorkerCounts): number[] {
  return Array.from(
    { length: Math.max(2, counts.length) },
    (_, n) => Math.max(counts[n] ?? 0, n < 2 ? 1 : 0),
  );
}

/**
 * The engine that satisfies every configuration: of each size as many workers as any of them needs.
 * Deviation: for Table 4's own mixes this is [1,1,2,2,1,0]; the table prints [1,1,1,2,1,0], which lacks
 * one of the two workers of size 4 in the mix for 16.
 * Source: E2bird, section 7.3.2, Table 4.
 * @param configurations by load (TotalBS), how many workers of sizes 1, 2, 4, ...
 * @returns how many workers of sizes 1, 2, 4, ...; at least one each of sizes 1 and 2
 * @throws TypeError or RangeError on what are no counts of workers
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { engineConfiguration } from "@shoal/core/simulate";
 *
 * const counts = engineConfiguration({ 8: [0, 0, 0, 1], 16: [0, 0, 2, 1] });
 * assert.deepEqual(counts, [1, 1, 2, 1]); // sizes 1, 2, 4, 4, 8
 * ```
 */
export function engineConfiguration(
  configurations: Readonly<Record<number, readonly number[]>>,
): number[] {
  ofType("object")("configurations", configurations);
  for (const [total, counts] of Object.entries(configurations)) {
    checkCounts(`configurations[${shorten(total)}]`, counts);
  }
  const all = Object.values(configurations);
  const sizes = largest(all.map(({ length }) => length));
  return withDefaults(
    Array.from(
      { length: sizes },
      (_, n) => largest(all.map((counts) => counts[n] ?? 0)),
    ),
  );
}
