/** How much longer or shorter batches take than their median, as it was seen under load. */
import type { Prng } from "../base/prng.ts";
import { ascending, mean } from "../base/statistics.ts";

/** Steps of a distribution: shares up to here, ascending to 1, and the factor of those behind the step before. */
export type Spread = readonly (readonly [share: number, factor: number])[];

/** Shares of which each has its mean, and of how many the slowest are told apart. */
const STEPS = 50;
const SLOWEST = 0.01;
const TOLD_APART = 100;

/** Keeps the mean of the factors whole, and the slowest as they were. @param factors at least one */
export function spreadOf(factors: readonly number[]): Spread {
  const sorted = ascending(factors);
  const { length } = sorted;
  const slow = Math.floor((1 - SLOWEST) * length);
  const spread: [number, number][] = [];
  const cut = (from: number, to: number, pieces: number) => {
    for (let i = 0, start = from; i < pieces; i++) {
      const end = from + Math.round((i + 1) * (to - from) / pieces);
      if (end === start) continue;
      const factor = mean(sorted.subarray(start, end));
      spread.push([end / length, Number(factor.toPrecision(4))]);
      start = end;
    }
  };
  cut(0, slow, STEPS);
  cut(slow, length, TOLD_APART);
  return spread;
}

/** One of them. */
export function drawnFactor(spread: Spread, prng: Prng): number {
  const share = prng.float();
  let [low, high] = [0, spread.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spread[middle][0] > share) high = middle;
    else low = middle + 1;
  }
  return spread[low][1];
}
