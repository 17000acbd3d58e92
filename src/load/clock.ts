import { setImmediate } from "node:timers/promises";
import { nsToMs } from "../base/units.ts";
import type { LoadClock } from "./wire.ts";

/** Longest time that a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** A clock over one that tells the time, with the runtime's timers: they resolve a millisecond or two. */
export function timerClock(nowNs: () => number): LoadClock {
  const msTo = (atNs: number) =>
    Math.min(TIMER_MS_MAX, Math.max(0, Math.floor(nsToMs(atNs - nowNs()))));
  return {
    nowNs,
    async until(atNs, stop) {
      while (!stop?.aborted && nowNs() < atNs) {
        await new Promise<void>((resolve) => {
          const over = () => {
            clearTimeout(id);
            stop?.removeEventListener("abort", over);
            resolve();
          };
          const id = setTimeout(over, msTo(atNs));
          stop?.addEventListener("abort", over);
        });
      }
    },
    turn: () => setImmediate(),
    at(atNs, then) {
      const id = setTimeout(then, msTo(atNs));
      return () => clearTimeout(id);
    },
  };
}
