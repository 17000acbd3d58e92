/** Smallest value told apart from 0. */
const LEAST = 1e-3;

/** Upper edge of a bucket over its lower one. */
const RATIO = 1.02;

/**
 * Counts by size in buckets 2 % wide, so that a day of figures takes as much room as a minute of them.
 */
export class LogHistogram {
  readonly #counts: number[] = [];
  #count = 0;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  /** Largest value; NaN without any. */
  get max(): number {
    return this.#count === 0 ? NaN : this.#max;
  }

  add(value: number): void {
    const bucket = value <= LEAST
      ? 0
      : Math.ceil(Math.log(value / LEAST) / Math.log(RATIO));
    while (this.#counts.length <= bucket) this.#counts.push(0);
    this.#counts[bucket]++;
    this.#count++;
    this.#max = Math.max(this.#max, value);
  }

  /** Adds all that another one has counted. */
  addAll(other: LogHistogram): void {
    while (this.#counts.length < other.#counts.length) this.#counts.push(0);
    other.#counts.forEach((count, bucket) => this.#counts[bucket] += count);
    this.#count += other.#count;
    this.#max = Math.max(this.#max, other.#max);
  }

  /**
   * Nearest-rank percentile, up to 2 % too large; NaN without values.
   * @param share in (0, 1]
   */
  percentile(share: number): number {
    if (this.#count === 0) return NaN;
    let left = Math.ceil(share * this.#count);
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= this.#counts[bucket];
      if (left <= 0) return Math.min(this.#max, LEAST * RATIO ** bucket);
    }
    return this.#max;
  }
}
