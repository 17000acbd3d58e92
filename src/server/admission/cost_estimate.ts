/**
 * What a model's requests cost and how long they will take, learned from those that ran: work, which is the time that
 * workers spent in a request's rows, by its size; and latency, from arrival to end, by its size and the work that was
 * ahead of it. The second one's third coefficient is what a nanosecond of work ahead costs in waiting: one over the
 * workers that really compute side by side, less what batches save. Nothing has to be measured before serving, and
 * every figure follows the machine, the batches and the load of the last seconds.
 */
import { LeastSquares } from "../../base/least_squares.ts";
import { RecentMisses } from "./recent_misses.ts";

/** Share of what is promised that is to be kept. */
const KEPT = 0.97;

/** Nanoseconds of waiting for one of work ahead, at most: of one worker, that it shares with others and in whole batches. */
const PER_AHEAD_MAX = 2;

/** Weights that observations keep when another one comes: some 200 count of what requests cost; of latencies, which change
 * with the load from one moment to the next, some 50. */
const WORK_KEPT = 0.995;
const LATENCY_KEPT = 0.98;

/** Time after which what was learned says little, where nobody was let in meanwhile: half of it would be forgotten. */
const OUTDATED_NS = 5e9;

/** What is known of a model's requests; made and taught by an admission. */
export class CostEstimate {
  readonly #work = new LeastSquares([0, 0], WORK_KEPT);
  readonly #latency: LeastSquares;
  readonly #perAheadMin: number;
  readonly #misses = new RecentMisses(KEPT);
  /** Of a task, by its rows, or tokens. */
  readonly #task = new LeastSquares([0, 0], WORK_KEPT);
  #taskLength = 0;
  #underWay = 0;
  #letInNs = 0;

  /**
   * Nothing is known yet.
   * @param workers that compute side by side, as assumed until it is seen
   */
  constructor(workers: number) {
    this.#perAheadMin = 1 / workers;
    this.#latency = new LeastSquares([0, 0, 1 / workers], LATENCY_KEPT);
  }

  /** Whether a request of the model was ever seen to end. */
  get isKnown(): boolean {
    return this.#work.weight > 0;
  }

  /**
   * Whether it is time that somebody finds out how long it takes now: no request of the model was let in for a while, and
   * none is there. Requests of other models say nothing of it.
   */
  isOutdated(nowNs: number): boolean {
    return this.isKnown && this.#underWay === 0 &&
      nowNs - this.#letInNs > OUTDATED_NS;
  }

  /** A request was not refused when it came. */
  letIn(nowNs: number): void {
    this.#underWay++;
    this.#letInNs = nowNs;
  }

  /** It is over, or was refused after all. */
  left(): void {
    this.#underWay--;
  }

  /** Nanoseconds of work of `count` requests that have `size` together. */
  workNs(count: number, size: number): number {
    return this.#work.expect([count, size]);
  }

  /** Expected nanoseconds from arrival to end. */
  latencyNs(size: number, aheadNs: number): number {
    const [fixed, perSize] = this.#latency.coefficients();
    return fixed + perSize * size + this.drainNs(aheadNs);
  }

  /** What may be promised where so much is expected: longer by what the like was missed by lately. */
  promisedNs(latencyNs: number): number {
    return latencyNs * (1 + this.#misses.margin);
  }

  /** Nanoseconds in which so much work ahead goes away. */
  drainNs(workNs: number): number {
    const [, , perAhead] = this.#latency.coefficients();
    // Some worker computes: work does not take much longer to go away than it takes. A first impression that it does would
    // have nobody let in behind anybody, and so never be corrected. Nor does it go away faster than all workers do it:
    // where nobody had work ahead of him for a while, what was seen says nothing of what it costs.
    const bounded = Math.max(
      this.#perAheadMin,
      Math.min(PER_AHEAD_MAX, perAhead),
    );
    return bounded * workNs;
  }

  /**
   * Which part of work is there because of who is in a batch, the other being there for any batch: what somebody else
   * adds to it, in proportion. 1 while nothing is known.
   */
  get marginalShare(): number {
    const [fixed, perLength] = this.#task.coefficients();
    const added = perLength * this.#taskLength;
    return fixed + added > 0 ? added / (fixed + added) : 1;
  }

  /** A task was executed. @param length rows, or tokens, in it */
  ranTask(length: number, tookNs: number, nowNs: number): void {
    this.#task.observe([1, length], tookNs, nowNs);
    this.#taskLength += (1 - WORK_KEPT) * (length - this.#taskLength);
  }

  /** A request ran to its end. */
  ran(size: number, workNs: number, nowNs: number): void {
    this.#work.observe([1, size], workNs, nowNs);
  }

  /**
   * A request took so long, or, of one that was ended for being late, would have taken longer.
   * @param expectedNs what was expected when it came; NaN when nothing was known
   */
  took(
    { size, aheadNs, expectedNs }: {
      readonly size: number;
      readonly aheadNs: number;
      readonly expectedNs: number;
    },
    latencyNs: number,
    nowNs: number,
  ): void {
    this.#latency.observe([1, size, aheadNs], latencyNs, nowNs);
    if (expectedNs > 0) this.#misses.add(expectedNs, latencyNs, nowNs);
  }
}
