/** How many streams a machine carries: by doubling and bisecting in short trials, then in longer ones until one is survived. */
import { LATE_MAX, type Trial } from "./trial.ts";

export interface Capacity {
  /** Streams that were carried for the longer time, too; 0 when one was too many. */
  readonly streams: number;
  /** What came of them then; undefined where there are none. */
  readonly confirmed: Trial | undefined;
  /** Every short trial, in the order of its streams. */
  readonly trials: readonly Trial[];
}

/** A search for what is carried. */
export interface CapacitySearch {
  /** Runs so many streams for a short time, in which {@linkcode SHORT_LATE_MAX} of the frames may be late. */
  attempt(streams: number): Promise<Trial>;
  /** Runs them for longer: 99.9 % of a short time may be luck. */
  confirm(streams: number): Promise<Trial>;
  /** Streams to begin with. */
  from: number;
  /** No more than these are tried. */
  most: number;
}

/** What is left between the largest load carried and the smallest that was not, over the former. */
const RESOLUTION = 0.06;
/** Of a short trial: in its few frames 99.9 % would be chance. */
export const SHORT_LATE_MAX = 0.01;
/** A load that was not carried is tried once more: something else may have had the machine. */
const ATTEMPTS = 2;

export async function findCapacity(
  { attempt, confirm, from, most }: CapacitySearch,
): Promise<Capacity> {
  const trials: Trial[] = [];
  const isCarried = async (streams: number): Promise<boolean> => {
    const trial = await tried(attempt, streams, SHORT_LATE_MAX);
    trials.push(trial);
    return trial.late <= SHORT_LATE_MAX;
  };
  let carried = 0;
  let refused = most + 1;
  for (let streams = from; streams <= most; streams *= 2) {
    if (await isCarried(streams)) {
      carried = streams;
      refused = most + 1;
    } else if (refused <= most) break;
    // One refusal may be chance: twice as many decide.
    else refused = streams;
  }
  while (refused - carried > Math.max(1, RESOLUTION * carried)) {
    const middle = Math.floor((carried + refused) / 2);
    if (await isCarried(middle)) carried = middle;
    else refused = middle;
  }
  trials.sort((a, b) => a.streams - b.streams);
  let streams = carried;
  while (streams > 0) {
    const trial = await tried(confirm, streams, LATE_MAX);
    if (trial.late <= LATE_MAX) return { streams, confirmed: trial, trials };
    streams -= Math.max(1, Math.floor(RESOLUTION * streams));
  }
  return { streams: 0, confirmed: undefined, trials };
}

/** The first trial that is carried, or the last one. */
async function tried(
  run: (streams: number) => Promise<Trial>,
  streams: number,
  lateMax: number,
): Promise<Trial> {
  for (let attempts = 1;; attempts++) {
    const trial = await run(streams);
    if (trial.late <= lateMax || attempts === ATTEMPTS) return trial;
  }
}
