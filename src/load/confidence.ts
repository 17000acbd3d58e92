/**
 * Percentiles with confidence intervals. Latencies of requests that are near in time depend on each other (they met
 * in a queue), so that whole blocks of consecutive requests are drawn anew, not single ones.
 *
 * Source: the block bootstrap with blocks that do not overlap (Carlstein 1986), percentile interval.
 */
import type { Prng } from "../base/prng.ts";
import { ascending, percentile } from "../base/statistics.ts";
import { requestsLeast } from "./early_stopping.ts";

/** Blocks that a run is cut into. */
const BLOCKS = 40;
/** Times that it is drawn anew. */
const DRAWS = 400;
/** What of the draws an interval holds. */
const CONFIDENCE = 0.95;

/** A percentile, and where it is with a confidence of 95 %. */
export interface Estimate {
  /** Share in (0, 1). */
  readonly share: number;
  /** NaN where there are too few requests to speak of it (null in JSON). */
  readonly ns: number;
  readonly lowNs: number;
  readonly highNs: number;
}

/** Percentiles that are told. */
export const SHARES = [0.5, 0.9, 0.99, 0.999] as const;

/**
 * Percentiles of durations, nearest rank.
 * @param valuesNs in the order of their requests
 * @param prng draws the blocks
 * @param stopping confidence of early stopping, which says of how many requests a percentile can be told; default MLPerf's
 */
export function estimates(
  valuesNs: ArrayLike<number>,
  prng: Prng,
  shares: readonly number[] = SHARES,
  stopping?: number,
): Estimate[] {
  const count = valuesNs.length;
  const sorted = ascending(Array.from(valuesNs));
  const drawn = drawnPercentiles(valuesNs, prng, shares);
  return shares.map((share, s) => {
    // Above the median, a percentile without a request beyond it would be the largest value, whatever it is.
    const isKnown = count > 0 &&
      (share <= 0.5 || count >= requestsLeast(share, 0, stopping));
    if (!isKnown) return { share, ns: NaN, lowNs: NaN, highNs: NaN };
    const of = ascending(drawn[s]);
    return {
      share,
      ns: percentile(sorted, share),
      lowNs: of.length > 0 ? percentile(of, (1 - CONFIDENCE) / 2) : NaN,
      highNs: of.length > 0 ? percentile(of, (1 + CONFIDENCE) / 2) : NaN,
    };
  });
}

/** Percentiles of each draw, by share; none when there are fewer requests than blocks. */
function drawnPercentiles(
  valuesNs: ArrayLike<number>,
  prng: Prng,
  shares: readonly number[],
): number[][] {
  const count = valuesNs.length;
  const drawn = shares.map((): number[] => []);
  if (count < BLOCKS) return drawn;
  const order = Uint32Array.from({ length: count }, (_, i) => i)
    .sort((a, b) => valuesNs[a] - valuesNs[b]);
  const blockOf = order.map((i) => Math.floor(i * BLOCKS / count));
  const sizes = new Array<number>(BLOCKS).fill(0);
  for (const block of blockOf) sizes[block]++;
  const times = new Uint32Array(BLOCKS);
  for (let draw = 0; draw < DRAWS; draw++) {
    times.fill(0);
    let total = 0;
    for (let k = 0; k < BLOCKS; k++) {
      const block = prng.int(BLOCKS);
      times[block]++;
      total += sizes[block];
    }
    let seen = 0;
    let s = 0;
    for (let i = 0; i < count && s < shares.length; i++) {
      seen += times[blockOf[i]];
      while (s < shares.length && seen >= Math.ceil(shares[s] * total)) {
        drawn[s++].push(valuesNs[order[i]]);
      }
    }
  }
  return drawn;
}
