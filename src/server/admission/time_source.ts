/** Time as admission sees it: the wall's, or a test's. */
import { NS_PER_MS } from "../../base/units.ts";
import { wallNs } from "../../engine/wall/clock.ts";
import { timerMs } from "../../engine/wall/patience.ts";

/** A clock with a bell. */
export interface TimeSource {
  /** Now, in nanoseconds of the engine's clock. */
  nowNs(): number;
  /**
   * Calls somebody when it is so late; never, at Infinity.
   * @returns calls it off
   */
  at(ns: number, call: () => void): () => void;
}

/** The wall's. */
export const WALL_TIME: TimeSource = {
  nowNs: wallNs,
  at(ns, call) {
    if (ns === Infinity) return () => {};
    let timer: ReturnType<typeof setTimeout>;
    const look = () => {
      const leftMs = (ns - wallNs()) / NS_PER_MS;
      // Timers are early by a fraction of a millisecond, and have a longest delay.
      if (leftMs <= 0) call();
      else timer = setTimeout(look, timerMs(Math.ceil(leftMs)));
    };
    const leftMs = (ns - wallNs()) / NS_PER_MS;
    timer = setTimeout(look, timerMs(Math.ceil(leftMs)));
    return () => clearTimeout(timer);
  },
};
