/**
 * Q, the idle workers of a multi-granularity inference engine, largest first.
 * Source: E2bird, section 6.1. The paper sorts them in a red-black tree; sizes being powers of two, a
 * count per size does: every operation looks at log2(MaxInf) sizes at most.
 */
import { describe } from "../../base/describe.ts";

/** Workers by size: entry n counts those of size 2^n (E2bird, Eq. 6). */
export type WorkerCounts = readonly number[];

/** Sum of the workers' sizes, TotalBS (Eq. 6). */
export function totalBatchSize(counts: WorkerCounts): number {
  return counts.reduce((sum, count, n) => sum + count * 2 ** n, 0);
}

/**
 * @param sizes of workers, each a power of two
 * @throws RangeError on another size
 */
export function workerCounts(
  policy: string,
  sizes: readonly number[],
): number[] {
  const counts: number[] = [];
  for (const size of sizes) {
    const n = typeof size === "number" ? Math.log2(size) : NaN;
    if (!Number.isInteger(n) || n < 0) {
      throw new RangeError(
        `Workers of policy "${policy}" have sizes 1, 2, 4, ...; got ${
          describe(size)
        }`,
      );
    }
    counts[n] = (counts[n] ?? 0) + 1;
  }
  return Array.from(counts, (count) => count ?? 0);
}

export class IdleWorkers {
  /** Workers of the current configuration, and busy ones, by exponent of their size. */
  #counts: WorkerCounts;
  readonly #busy: number[] = [];

  constructor(counts: WorkerCounts) {
    this.#counts = counts;
  }

  /** Busy workers finish what they have, whether the new configuration has them or not. */
  configure(counts: WorkerCounts): void {
    this.#counts = counts;
  }

  /** Size of the largest idle worker of at most `most`; 0 when there is none. */
  largestIdle(most: number): number {
    if (most < 1) return 0;
    let n = Math.min(Math.floor(Math.log2(most)), this.#counts.length - 1);
    for (; n >= 0; n--) {
      if (this.#counts[n] > (this.#busy[n] ?? 0)) return 2 ** n;
    }
    return 0;
  }

  /** A worker of this size starts. */
  remove(size: number): void {
    const n = Math.log2(size);
    this.#busy[n] = (this.#busy[n] ?? 0) + 1;
  }

  /** A worker of this size is idle again. */
  add(size: number): void {
    this.#busy[Math.log2(size)]--;
  }
}
