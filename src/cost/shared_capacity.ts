import {
  finiteNonNegative,
  finitePositive,
  number,
} from "../base/checked_options.ts";

/** Whether a batch can fill such a share of a device: a sum of shares may be rounded to a little more than all of it. */
export const isShare = (demand: number): boolean =>
  demand >= 0 && demand <= 1 + 1e-6;

const share = number("a share of the device, from 0 to 1", isShare);

/**
 * Concurrent work on one device: while all that runs asks for more than the device has, everything is
 * slowed down in proportion.
 * Source: E2bird, section 7.1, Eq. 3: work is done at the rate of the capacity that it gets, shares add up
 * to the device's at most. Every start and end changes the rates, so completions are told one at a time.
 * Assumption: shares are in proportion to demands (section 7.2: requests share a GPU equally).
 */
export class SharedCapacity<Job> {
  readonly #jobs = new Map<
    Job,
    { remainingNs: number; readonly demand: number }
  >();
  readonly #interference: (jobs: number) => number;
  #atNs = 0;
  #demand = 0;

  /** @param interference see SharedCost; default: none */
  constructor(interference: (jobs: number) => number = () => 1) {
    this.#interference = (jobs) => {
      if (jobs === 0) return 1;
      const factor = interference(jobs);
      finitePositive(`interference(${jobs})`, factor);
      return factor;
    };
  }

  /** @param aloneNs time the job takes with the device to itself */
  start(job: Job, aloneNs: number, demand: number, nowNs: number): void {
    this.#advance(nowNs);
    this.#jobs.set(job, { remainingNs: aloneNs, demand });
    this.#demand += demand;
  }

  /** The job that is done next, and when, unless something starts before. */
  next(): { job: Job; atNs: number } | undefined {
    let first: Job | undefined;
    let leastNs = Infinity;
    for (const [job, { remainingNs }] of this.#jobs) {
      if (remainingNs < leastNs) {
        leastNs = remainingNs;
        first = job;
      }
    }
    if (first === undefined) return undefined;
    // A millionth of a nanosecond is rounding, not work.
    const ns = Math.ceil(Math.max(0, leastNs) * this.#slowdown - 1e-6);
    return { job: first, atNs: this.#atNs + ns };
  }

  finish(job: Job, nowNs: number): void {
    this.#advance(nowNs);
    this.#demand -= this.#jobs.get(job)!.demand;
    this.#jobs.delete(job);
    if (this.#jobs.size === 0) this.#demand = 0;
  }

  get #slowdown(): number {
    return Math.max(1, this.#demand) * this.#interference(this.#jobs.size);
  }

  #advance(nowNs: number): void {
    const doneNs = (nowNs - this.#atNs) / this.#slowdown;
    for (const job of this.#jobs.values()) job.remainingNs -= doneNs;
    this.#atNs = nowNs;
  }
}

/**
 * When each of several jobs, all started at 0 on one device, is done, ns: while all that run ask for more than the
 * device has, everything is slowed down in proportion.
 * Source: E2bird, section 7.1, Eq. 3. Assumption: shares are in proportion to demands.
 * @param jobs time of each alone, ns, and the share of the device that it fills then, in (0, 1]
 * @param interference see `SharedCost.interference`; default: none
 * @throws RangeError on what is no time, share or factor
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { coRunNs } from "@shoal/core/simulate";
 *
 * const whole = { aloneNs: 100, demand: 1 };
 * assert.deepEqual(coRunNs([whole, whole]), [200, 200]);
 * const half = { aloneNs: 100, demand: 0.5 };
 * assert.deepEqual(coRunNs([half, half]), [100, 100]);
 * ```
 */
export function coRunNs(
  jobs: readonly { readonly aloneNs: number; readonly demand: number }[],
  interference?: (jobs: number) => number,
): number[] {
  const device = new SharedCapacity<number>(interference);
  jobs.forEach(({ aloneNs, demand }, i) => {
    finiteNonNegative("aloneNs", aloneNs);
    share("demand", demand);
    device.start(i, aloneNs, demand, 0);
  });
  const endsNs = jobs.map(() => 0);
  for (let next = device.next(); next; next = device.next()) {
    endsNs[next.job] = next.atNs;
    device.finish(next.job, next.atNs);
  }
  return endsNs;
}
