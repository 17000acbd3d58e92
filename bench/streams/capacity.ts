/** How many streams a machine carries: by doubling, then by bisecting. */
import { LATE_MAX, type Trial } from "./trial.ts";

export interface Capacity {
  /** Streams that were carried; 0 when one was too many. */
  readonly streams: number;
  /** Every trial, in the order of its streams. */
  readonly trials: readonly Trial[];
}

/** What is left between the largest load carried and the smallest that was not, over the former. */
const RESOLUTION = 0.06;
/** A load that was not carried is tried once more: something else may have had the machine. */
const ATTEMPTS = 2;

/**
 * @param attempt runs so many streams
 * @param from streams to begin with
 * @param most no more than these are tried
 */
export async function findCapacity(
  attempt: (streams: number) => Promise<Trial>,
  from: number,
  most: number,
): Promise<Capacity> {
  const trials: Trial[] = [];
  const isCarried = async (streams: number): Promise<boolean> => {
    let last: Trial | undefined;
    for (let i = 0; i < ATTEMPTS; i++) {
      last = await attempt(streams);
      if (last.late <= LATE_MAX) break;
    }
    trials.push(last!);
    return last!.late <= LATE_MAX;
  };
  let carried = 0;
  let refused = most + 1;
  for (let streams = from; streams <= most; streams *= 2) {
    if (!await isCarried(streams)) {
      refused = streams;
      break;
    }
    carried = streams;
  }
  while (refused - carried > Math.max(1, RESOLUTION * carried)) {
    const middle = Math.floor((carried + refused) / 2);
    if (await isCarried(middle)) carried = middle;
    else refused = middle;
  }
  trials.sort((a, b) => a.streams - b.streams);
  return { streams: carried, trials };
}
