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

/** From `absoluteMs` of any thread to nanoseconds of this one. */
export function fromAbsoluteMs(ms: number): number {
  return msToNs(ms - performance.timeOrigin);
}

/** Of nanoseconds of this thread: milliseconds since 1970. */
export function absoluteMsOf(ns: number): number {
  return performance.timeOrigin + nsToMs(ns);
}

/** Now, as ISO 8601, for reports. */
export function isoNow(): string {
  return new Date().toISOString();
}
