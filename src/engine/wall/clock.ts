/**
 * The one place that reads the wall clock. Nanoseconds count from the start of the engine's thread;
 * worker threads report in absolute milliseconds, as their clocks start elsewhere.
 */
import { msToNs, nsToMs } from "../../base/units.ts";

/** Now, in nanoseconds of the engine's thread. */
export function wallNs(): number {
  return msToNs(performance.now());
}

/** Now, in milliseconds comparable between threads. */
export function absoluteMs(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Now by the machine's clock, in milliseconds since 1970: for times that others say or are told. It may be set while the
 * program runs, of which `absoluteMs` knows nothing.
 */
export function dateMs(): number {
  return Date.now();
}

/** Now by the machine's clock, and in its zone. */
export function dateNow(): Date {
  return new Date();
}

/** When something was done, in nanoseconds of this thread. */
interface Span {
  readonly startNs: number;
  readonly endNs: number;
}

/**
 * The clock of another thread, which runs as this one's does but may have started with another time: the machine's was
 * set in between, since it slept or did not know the time. How far it is ahead follows from what it has timed: none
 * of that was begun before it was asked for, or is to come.
 */
export class ThreadClock {
  /** How far it is ahead, at least and at most; less than nothing where it is behind. */
  #leastNs = -Infinity;
  #mostNs = Infinity;

  /**
   * What that thread has timed with `absoluteMs`, in nanoseconds of this one.
   * @param askedNs before it began, here
   * @param nowNs after it was over, here
   */
  span(startMs: number, endMs: number, askedNs: number, nowNs: number): Span {
    const startNs = msToNs(startMs - performance.timeOrigin);
    const endNs = msToNs(endMs - performance.timeOrigin);
    this.#mostNs = Math.min(this.#mostNs, startNs - askedNs);
    this.#leastNs = Math.max(this.#leastNs, endNs - nowNs);
    if (this.#leastNs > this.#mostNs) {
      // One of them was set meanwhile.
      this.#mostNs = startNs - askedNs;
      this.#leastNs = endNs - nowNs;
    }
    const aheadNs = Math.min(Math.max(0, this.#leastNs), this.#mostNs);
    // Where clocks are rounded it may have taken longer there than all did here.
    return {
      startNs: startNs - aheadNs,
      endNs: Math.min(endNs - aheadNs, nowNs),
    };
  }
}

/** Of nanoseconds of this thread: milliseconds since 1970. */
export function absoluteMsOf(ns: number): number {
  return performance.timeOrigin + nsToMs(ns);
}

/** Now, as ISO 8601, for reports. */
export function isoNow(): string {
  return new Date().toISOString();
}
