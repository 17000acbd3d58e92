/** Stretches of a machine's time, one behind the other and round again, as the time of a simulation. */
import { SLICE_NS, type Stretch, WHOLE } from "./stretch.ts";

export class RecordedTime {
  /** Until it begins anew. */
  readonly lengthNs: number;
  readonly #speed: readonly (readonly number[])[];
  readonly #pauses: readonly (readonly [number, number])[];

  /** @param stretches of equally many workers, at least one */
  constructor(stretches: readonly Stretch[]) {
    this.#speed = stretches[0].speed.map((_, worker) =>
      stretches.flatMap(({ speed }) => speed[worker])
    );
    this.lengthNs = this.#speed[0].length * SLICE_NS;
    let startNs = 0;
    this.#pauses = stretches.flatMap(({ speed, pauses }) => {
      const [fromNs, lengthNs] = [startNs, speed[0].length * SLICE_NS];
      startNs += lengthNs;
      return pauses.filter(([at]) => at < lengthNs).map(([at, endNs]) =>
        [fromNs + at, fromNs + Math.min(lengthNs, endNs)] as const
      );
    });
  }

  /** Integer ns that a worker needs from a time on for what the tables say takes so long. */
  tookNs(worker: number, nominalNs: number, nowNs: number): number {
    const speed = this.#speed[worker];
    let leftNs = nominalNs * WHOLE;
    let atNs = nowNs % this.lengthNs;
    let tookNs = 0;
    for (;;) {
      const slice = Math.floor(atNs / SLICE_NS);
      const own = speed[slice % speed.length];
      const roomNs = (slice + 1) * SLICE_NS - atNs;
      if (own * roomNs >= leftNs) return Math.round(tookNs + leftNs / own);
      leftNs -= own * roomNs;
      tookNs += roomNs;
      atNs += roomNs;
    }
  }

  /** When the host hears of what happens at a time: then, or when the pause is over. */
  heardNs(nowNs: number): number {
    const atNs = nowNs % this.lengthNs;
    const pauses = this.#pauses;
    let [low, high] = [0, pauses.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pauses[middle][1] > atNs) high = middle;
      else low = middle + 1;
    }
    const isPaused = low < pauses.length && pauses[low][0] <= atNs;
    return isPaused ? nowNs + pauses[low][1] - atNs : nowNs;
  }
}
