/** How requests come: independent, in bursts, and over a day; all of one mean rate. */
import type { Prng } from "../../src/base/prng.ts";
import { mean } from "../../src/base/statistics.ts";
import { NS_PER_S } from "../../src/base/units.ts";
import { poisson } from "../../src/workload/arrivals.ts";

/** Scheduled arrivals, ns, ascending. */
export type ArrivalTimes = (
  options: { requests: number; ratePerS: number; prng: Prng },
) => number[];

/** Mean number of requests that come at once. */
const BURST = 8;

/**
 * Requests of a day in quarters of an hour: a load balancer's, day 5 of "aws-elb-request-count-5min" of the Numenta
 * Anomaly Benchmark (MIT).
 */
// deno-fmt-ignore
const DAY = [
  14, 111, 230, 145, 203, 88, 193, 82, 82, 218, 98, 113, 135, 97, 231, 174, 161, 39, 36, 190, 269, 318, 192, 187,
  86, 139, 24, 27, 72, 173, 96, 219, 242, 124, 180, 12, 92, 73, 34, 77, 105, 172, 196, 52, 219, 164, 127, 11,
  94, 278, 100, 346, 210, 349, 173, 215, 432, 502, 228, 283, 229, 332, 139, 458, 155, 123, 96, 188, 197, 597, 308, 97,
  132, 239, 426, 330, 70, 212, 350, 363, 83, 349, 347, 529, 362, 280, 139, 107, 375, 76, 68, 281, 111, 77, 219, 312,
];

/** The day as shares of its busiest quarter. */
export const dayShare = {
  mean: mean(DAY) / Math.max(...DAY),
  /** @param time share of the day that is over, below 1 */
  at: (time: number): number =>
    DAY[Math.floor(time * DAY.length)] / Math.max(...DAY),
};

/** Every way by name. */
export const ARRIVALS: Readonly<Record<string, ArrivalTimes>> = {
  poisson: ({ requests, ratePerS, prng }) =>
    poisson({ ratePerS }).timesNs(requests, prng),
  // Bursts come independently; their sizes are geometric.
  bursts({ requests, ratePerS, prng }) {
    const times: number[] = [];
    let seconds = 0;
    while (times.length < requests) {
      seconds += prng.exponential(1) * BURST / ratePerS;
      const size = Math.ceil(prng.exponential(1) / -Math.log(1 - 1 / BURST));
      const atNs = Math.round(seconds * NS_PER_S);
      for (let i = 0; i < size && times.length < requests; i++) {
        times.push(atNs);
      }
    }
    return times;
  },
  // A day that is as long as the requests last, with the rate of each quarter of an hour.
  day({ requests, ratePerS, prng }) {
    const total = DAY.reduce((sum, count) => sum + count, 0);
    const lengthS = requests / ratePerS;
    const times: number[] = [];
    /** Expected requests since midnight; the rate of whoever comes next follows the clock. */
    let expected = 0;
    for (let i = 0; i < requests; i++) {
      expected += prng.exponential(1);
      let left = expected / requests * total;
      let quarter = 0;
      // What is beyond midnight is the next day's.
      while (left >= DAY[quarter % DAY.length]) {
        left -= DAY[quarter++ % DAY.length];
      }
      const share = (quarter + left / DAY[quarter % DAY.length]) / DAY.length;
      times.push(Math.round(share * lengthS * NS_PER_S));
    }
    return times;
  },
};
