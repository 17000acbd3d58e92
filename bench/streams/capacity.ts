/**
 * How many streams a machine carries: from an estimate on, up or down in growing steps and then by bisecting, in short
 * trials; then in longer ones, down in growing steps until one is survived, and by bisecting what is above it.
 */
import { LATE_MAX, type Trial } from "./trial.ts";

export interface Capacity {
  /** Streams that were carried for the longer time, too; 0 when one was too many. */
  readonly streams: number;
  /** What came of them then; undefined where there are none. */
  readonly confirmed: Trial | undefined;
  /** Every short trial, in the order of its streams. */
  readonly trials: readonly Trial[];
}

/** A search for what is carried in short trials. */
export interface ShortSearch {
  /** Runs so many streams for a short time, in which {@linkcode SHORT_LATE_MAX} of the frames may be late. */
  attempt(streams: number): Promise<Trial>;
  /** Streams to begin with: the nearer to what is carried, the fewer trials. */
  from: number;
  /** No more than these are tried. */
  most: number;
}

/** A search for what is carried. */
export interface CapacitySearch extends ShortSearch {
  /** Runs them for longer: 99.9 % of a short time may be luck. */
  confirm(streams: number): Promise<Trial>;
}

/** Of the first step from the estimate; each further one is larger by as much. */
const STEP = 1.25;
/** What is left between the largest load carried and the smallest that was not, over the former. */
const RESOLUTION = 0.06;
/** Of a short trial: in its few frames 99.9 % would be chance. */
export const SHORT_LATE_MAX = 0.01;
/** A load that was not carried is tried once more: something else may have had the machine. */
const ATTEMPTS = 2;

export async function findCapacity(
  { confirm, ...search }: CapacitySearch,
): Promise<Capacity> {
  const { carried, trials } = await findInShort(search);
  let confirmed: Trial | undefined;
  let refused = Infinity;
  const isConfirmed = async (streams: number): Promise<boolean> => {
    const trial = await tried(confirm, streams, LATE_MAX);
    const isCarried = trial.late <= LATE_MAX;
    if (isCarried) confirmed = trial;
    else refused = streams;
    return isCarried;
  };
  let share = RESOLUTION;
  let streams = carried?.streams ?? 0;
  while (streams > 0 && !await isConfirmed(streams)) {
    streams -= Math.max(1, Math.floor(share * streams));
    share = Math.min(2 * share, 0.5);
  }
  // The last step down was a large one where it took many.
  const isFar = share > 2 * RESOLUTION;
  while (
    isFar && streams > 0 &&
    refused - streams > Math.max(1, RESOLUTION * streams)
  ) {
    const middle = Math.floor((streams + refused) / 2);
    if (await isConfirmed(middle)) streams = middle;
  }
  return { streams, confirmed, trials };
}

/**
 * The most streams that a short trial carries.
 * @returns that trial, undefined where one stream was too many, and all trials in the order of their streams
 */
export async function findInShort(
  { attempt, from, most }: ShortSearch,
): Promise<{ carried: Trial | undefined; trials: Trial[] }> {
  const trials: Trial[] = [];
  const isCarried = async (streams: number): Promise<boolean> => {
    const trial = await tried(attempt, streams, SHORT_LATE_MAX);
    trials.push(trial);
    return trial.late <= SHORT_LATE_MAX;
  };
  let carried = 0;
  /** Refused, and more than what is carried. One of them may be chance: two decide. */
  let above: number[] = [];
  let streams = Math.max(1, Math.min(most, from));
  for (let ratio = STEP;; ratio *= STEP) {
    if (await isCarried(streams)) {
      carried = streams;
      above = above.filter((refused) => refused > carried);
    } else above.push(streams);
    const largest = Math.max(carried, ...above);
    if (carried === 0) {
      if (streams === 1) break;
      streams = Math.max(1, Math.floor(streams / ratio));
    } else {
      if (above.length > 1 || largest === most) break;
      streams = Math.min(most, Math.ceil(ratio * largest));
    }
  }
  let refused = Math.min(most + 1, ...above);
  while (refused - carried > Math.max(1, RESOLUTION * carried)) {
    const middle = Math.floor((carried + refused) / 2);
    if (await isCarried(middle)) carried = middle;
    else refused = middle;
  }
  trials.sort((a, b) => a.streams - b.streams);
  const isMost = (trial: Trial) =>
    trial.streams === carried && trial.late <= SHORT_LATE_MAX;
  return { carried: trials.find(isMost), trials };
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
