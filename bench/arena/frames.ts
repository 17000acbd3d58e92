/** Frames of many streams, at one mean rate: what the kinds of arrivals are where sources do not come and go as requests do. */
import type { Prng } from "../../src/base/prng.ts";
import { streamLoad } from "../../src/workload/stream_load.ts";
import type { SimulatedArrival } from "../reproduce/simulation.ts";
import { dayShare } from "./arrivals.ts";
import type { StreamGroup } from "./streams.ts";

/** Shares of a group's period, and lengths in it. */
const JITTER_PERIODS = 0.25;
const STALL_EVERY_PERIODS = 16;
const STALL_PERIODS = 4;
/** Frames that a source of the group with the shortest period makes, at least. */
const FRAMES_EACH = 6;
const SEEDS = 2 ** 31;

export interface FramesOptions {
  readonly groups: readonly StreamGroup[];
  readonly arrivals: string;
  /** At least; more where streams are many. */
  readonly requests: number;
  readonly ratePerS: number;
  /** Mean time of a frame alone. */
  readonly aloneNs: number;
  readonly prng: Prng;
}

/**
 * Frames in order of arrival. "poisson": every source has a phase of its own, and frames are delayed by up to a quarter
 * of a period; "bursts": now and then a source is held back for some periods, and what it made comes at once; "day":
 * as many sources are on as the hour has.
 */
export function frameArrivals(
  { groups, arrivals, requests, ratePerS, aloneNs, prng }: FramesOptions,
): SimulatedArrival[] {
  const isDay = arrivals === "day";
  const periodsNs = groups.map(({ periodAlone }) => periodAlone * aloneNs);
  const framesPerNs = periodsNs.reduce((sum, ns) => sum + 1 / ns, 0);
  const share = isDay ? dayShare.mean : 1;
  const streams = Math.max(
    1,
    Math.round(ratePerS / 1e9 / framesPerNs / share),
  );
  const ratePerNs = streams * framesPerNs * share;
  const durationNs = Math.max(
    requests / ratePerNs,
    FRAMES_EACH * Math.min(...periodsNs),
  );
  const load = streamLoad({
    sources: periodsNs.map((periodNs) => ({
      streams,
      periodNs,
      jitterNs: JITTER_PERIODS * periodNs,
      ...(arrivals === "bursts" && {
        stallEveryNs: STALL_EVERY_PERIODS * periodNs,
        stallNs: STALL_PERIODS * periodNs,
      }),
    })),
    durationNs,
    seed: prng.int(SEEDS),
  });
  const waking = prng.fork("waking");
  const wakes = Array.from(
    { length: streams * groups.length },
    () => waking.float(),
  );
  const frames: SimulatedArrival[] = [];
  for (const { stream, group, madeNs, atNs } of load) {
    if (isDay && wakes[stream] >= dayShare.at(madeNs / durationNs)) continue;
    frames.push({ ...groups[group].frame, stream, arrivalNs: atNs });
  }
  return frames;
}
