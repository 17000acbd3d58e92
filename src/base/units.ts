/**
 * The one place that converts time. Time is integer nanoseconds in names ending in `Ns`;
 * 2^53 ns are 104 days, so a plain number holds every run.
 */
export const NS_PER_US = 1_000;
export const NS_PER_MS = 1_000_000;
export const NS_PER_S = 1_000_000_000;

export function msToNs(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}

export function nsToMs(ns: number): number {
  return ns / NS_PER_MS;
}

export function secondsToNs(seconds: number): number {
  return Math.round(seconds * NS_PER_S);
}
