/**
 * What a model's requests cost and how long they will take, learned from those that ran: work, which is the time that
 * workers spent in a request's rows, by its size; and latency, from arrival to end, by its size and the work that was
 * ahead of it. The second one's third coefficient is what a nanosecond of work ahead costs in waiting: one over the
 * workers that really compute side by side, less what batches save. Nothing has to be measured before serving, and
 * every figure follows the machine, the batches and the load of the last seconds.
 */
import { LeastSquares } from "./least_squares.ts";

/** Deviations that are added to an expected latency before it is promised: as TCP's retransmission timer has it (RFC
 * 6298), with fewer of them, since being late once costs less here than there. */
const DEVIATIONS = 2;

/** Nanoseconds of waiting for one of work ahead, at most: of one worker, that it shares with others and in whole batches. */
const PER_AHEAD_MAX = 2;

/** What is known of a model's requests; made and taught by an admission. */
export class CostEstimate {
  readonly #work = new LeastSquares([0, 0]);
  readonly #latency: LeastSquares;

  /**
   * Nothing is known yet.
   * @param workers that compute side by side, as assumed until it is seen
   */
  constructor(workers: number) {
    this.#latency = new LeastSquares([0, 0, 1 / workers]);
  }

  /** Whether a request of the model was ever seen to end. */
  get isKnown(): boolean {
    return this.#work.weight > 0;
  }

  /** Nanoseconds of work of `count` requests that have `size` together. */
  workNs(count: number, size: number): number {
    return this.#work.expect([count, size]);
  }

  /** Expected nanoseconds from arrival to end. */
  latencyNs(size: number, aheadNs: number): number {
    const [fixed, perSize, perAhead] = this.#latency.coefficients();
    // Some worker computes: work does not take much longer to go away than it takes. A first impression that it does would
    // have nobody let in behind anybody, and so never be corrected.
    return fixed + perSize * size + Math.min(PER_AHEAD_MAX, perAhead) * aheadNs;
  }

  /** What may be promised: an expected latency, and some of what it was missed by lately. */
  promisedNs(size: number, aheadNs: number): number {
    return this.latencyNs(size, aheadNs) + DEVIATIONS * this.#latency.deviation;
  }

  /** Nanoseconds in which so much work ahead goes away. */
  drainNs(workNs: number): number {
    return this.#latency.expect([0, 0, workNs]);
  }

  /** A request ran to its end. */
  ran(size: number, workNs: number, nowNs: number): void {
    this.#work.observe([1, size], workNs, nowNs);
  }

  /** A request took so long, or, of one that was ended for being late, would have taken longer. */
  took(size: number, aheadNs: number, latencyNs: number, nowNs: number): void {
    this.#latency.observe([1, size, aheadNs], latencyNs, nowNs);
  }
}
