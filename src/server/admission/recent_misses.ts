/**
 * By which part predictions were missed lately, as a quantile: with a prediction longer by that, so large a share of what
 * is promised is kept, whatever the distribution of misses is (split conformal prediction, over a window, of misses in
 * proportion to what was predicted). In proportion, since who finds much work ahead is delayed by more; and so that
 * misses of an overload that is over do not keep out who finds nobody.
 * Source: Lei et al., "Distribution-Free Predictive Inference for Regression" (JASA 2018), sections 2.2 and 5.2;
 * Gibbs and Candès, "Adaptive Conformal Inference Under Distribution Shift" (2021), for why a window.
 */

/** Misses that are looked at, and how long. */
const COUNT = 256;
const SEEN_NS = 5e9;

interface Miss {
  readonly part: number;
  readonly atNs: number;
}

export class RecentMisses {
  readonly #misses: Miss[] = [];
  #margin: number | undefined;

  /** @param share of what is promised that is to be kept, below 1 */
  constructor(readonly share: number) {}

  /** @param expectedNs what was predicted, positive */
  add(expectedNs: number, tookNs: number, nowNs: number): void {
    this.#misses.push({ part: tookNs / expectedNs - 1, atNs: nowNs });
    const isOld = ({ atNs }: Miss) => atNs < nowNs - SEEN_NS;
    while (this.#misses.length > COUNT || isOld(this.#misses[0])) {
      this.#misses.shift();
    }
    this.#margin = undefined;
  }

  /** Part of a prediction that it needs on top; 0 while nothing is known. */
  get margin(): number {
    return this.#margin ??= this.#quantile();
  }

  #quantile(): number {
    const { length } = this.#misses;
    if (length === 0) return 0;
    const ascending = Float64Array.from(this.#misses, ({ part }) => part)
      .sort();
    // One more than there are: that of the next one, of which nothing is known, is anywhere among them.
    const rank = Math.ceil(this.share * (length + 1));
    return Math.max(0, ascending[Math.min(rank, length) - 1]);
  }
}
