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
 * What another thread has timed with `absoluteMs`, in nanoseconds of this one. It is over: one that started after the
 * machine's clock had been set forward, since the machine slept or did not know the time, is ahead by as much.
 * @param nowNs now, here
 */
export function pastSpan(
  startMs: number,
  endMs: number,
  nowNs: number,
): { startNs: number; endNs: number } {
  const endNs = msToNs(endMs - performance.timeOrigin);
  const aheadNs = Math.max(0, endNs - nowNs);
  return {
    startNs: msToNs(startMs - performance.timeOrigin) - aheadNs,
    endNs: endNs - aheadNs,
  };
}

/** Of nanoseconds of this thread: milliseconds since 1970. */
export function absoluteMsOf(ns: number): number {
  return performance.timeOrigin + nsToMs(ns);
}

/** Now, as ISO 8601, for reports. */
export function isoNow(): string {
  return new Date().toISOString();
}
