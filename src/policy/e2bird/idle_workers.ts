/**
 * Q, the idle workers of a multi-granularity inference engine, largest first.
 * Source: E2bird, section 7.2.2. The paper sorts them in a red-black tree; sizes being powers of two, a
 * count per size and a bit for each that has an idle worker do: the largest that fits is the highest bit,
 * found in O(1), and a new configuration looks at every size once.
 */
import { describe } from "../../base/describe.ts";
import { log2 } from "../../base/elementary/logarithm.ts";

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
    const n = typeof size === "number" ? log2(size) : NaN;
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

/** Sizes that have a bit; no batch is larger. */
const EXPONENTS = 31;

export class IdleWorkers {
  /** Workers of the current configuration, and busy ones, by exponent of their size. */
  #counts: WorkerCounts = [];
  readonly #busy: number[] = [];
  /** Bit n: a worker of size 2^n is idle. */
  #idle = 0;

  constructor(counts: WorkerCounts) {
    this.configure(counts);
  }

  /** Busy workers finish what they have, whether the new configuration has them or not. */
  configure(counts: WorkerCounts): void {
    this.#counts = counts;
    this.#idle = 0;
    const sizes = Math.min(counts.length, EXPONENTS);
    for (let n = 0; n < sizes; n++) this.#look(n);
  }

  /** Size of the largest idle worker of at most `most`; 0 when there is none. */
  largestIdle(most: number): number {
    if (most < 1) return 0;
    const fitting = this.#idle & (2 ** (Math.floor(log2(most)) + 1) - 1);
    return fitting === 0 ? 0 : 2 ** (31 - Math.clz32(fitting));
  }

  /** A worker of this size starts. */
  remove(size: number): void {
    const n = log2(size);
    this.#busy[n] = (this.#busy[n] ?? 0) + 1;
    this.#look(n);
  }

  /** A worker of this size is idle again. */
  add(size: number): void {
    const n = log2(size);
    this.#busy[n]--;
    this.#look(n);
  }

  #look(n: number): void {
    if (this.#counts[n] > (this.#busy[n] ?? 0)) this.#idle |= 1 << n;
    else this.#idle &= ~(1 << n);
  }
}
