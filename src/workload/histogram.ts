import { shorten } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";

/**
 * Counts of positive integers, sampled exactly in proportion.
 * Text form: `value` or `valuexcount`, separated by spaces, values ascending: `3 4x12 5x2`.
 */
export class Histogram {
  readonly #values: number[] = [];
  /** Inclusive prefix sums of the counts. */
  readonly #upTo: number[] = [];

  /** @throws RangeError naming the entry that is not a count */
  constructor(text: string) {
    for (const entry of text.trim().split(/\s+/)) {
      const match = /^([1-9]\d*)(?:x([1-9]\d*))?$/.exec(entry);
      if (match === null) {
        throw new RangeError(
          `A histogram lists value or valuexcount, got "${shorten(entry)}"`,
        );
      }
      const value = Number(match[1]);
      if (value <= this.max) {
        throw new RangeError(
          `A histogram's values ascend, got ${value} after ${this.max}`,
        );
      }
      this.#values.push(value);
      this.#upTo.push(this.total + Number(match[2] ?? 1));
    }
  }

  /** Sum of all counts. */
  get total(): number {
    return this.#upTo.at(-1) ?? 0;
  }

  /** Largest value; 0 when there is none yet. */
  get max(): number {
    return this.#values.at(-1) ?? 0;
  }

  sample(prng: Prng): number {
    const rank = prng.int(this.total);
    let low = 0;
    let high = this.#values.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#upTo[middle] > rank) high = middle;
      else low = middle + 1;
    }
    return this.#values[low];
  }

  /** Values with their counts, ascending. */
  *entries(): Generator<[value: number, count: number]> {
    let before = 0;
    for (let i = 0; i < this.#values.length; i++) {
      yield [this.#values[i], this.#upTo[i] - before];
      before = this.#upTo[i];
    }
  }

  /** The text form of counts by value. */
  static encode(counts: ReadonlyMap<number, number>): string {
    return [...counts].sort(([a], [b]) => a - b)
      .map(([value, count]) => count === 1 ? `${value}` : `${value}x${count}`)
      .join(" ");
  }
}

/**
 * Counts of pairs (a, b): one line `a: histogram of b` per a.
 */
export class JointHistogram {
  readonly #rows = new Map<number, Histogram>();
  readonly #first: Histogram;

  constructor(text: string) {
    const totals = new Map<number, number>();
    for (const line of text.trim().split("\n")) {
      const [a = "", b = ""] = line.split(":");
      const row = new Histogram(b);
      this.#rows.set(Number(a), row);
      totals.set(Number(a), row.total);
    }
    this.#first = new Histogram(Histogram.encode(totals));
  }

  get total(): number {
    return this.#first.total;
  }

  sample(prng: Prng): [a: number, b: number] {
    const a = this.#first.sample(prng);
    return [a, this.sampleGiven(a, prng)];
  }

  /** A b from the pairs that have this a. */
  sampleGiven(a: number, prng: Prng): number {
    const row = this.#rows.get(a);
    if (row === undefined) {
      throw new RangeError(`No pair in the histogram starts with ${a}`);
    }
    return row.sample(prng);
  }

  *entries(): Generator<[a: number, b: number, count: number]> {
    for (const [a, row] of this.#rows) {
      for (const [b, count] of row.entries()) yield [a, b, count];
    }
  }

  /** The text form of pairs. */
  static encode(pairs: Iterable<readonly [a: number, b: number]>): string {
    const rows = new Map<number, Map<number, number>>();
    for (const [a, b] of pairs) {
      let row = rows.get(a);
      if (row === undefined) rows.set(a, row = new Map());
      row.set(b, (row.get(b) ?? 0) + 1);
    }
    return [...rows].sort(([a], [b]) => a - b).map(([a, row]) =>
      `${a}: ${Histogram.encode(row)}`
    ).join("\n");
  }
}
