/**
 * Frames of many streams: each source makes one in every period, from a phase of its own, and the network between it
 * and the server delays them (jitter) and at times holds all of a source's frames back and lets them go at once (a
 * stall). Frames of a stream arrive in their order.
 *
 * Assumption: jitter is uniform and stalls are exponential in length and distance; no paper of ours has streams.
 */
import { checkedOptions, type Checks } from "../base/checked_options.ts";
import {
  finiteNonNegative,
  number,
  ofType,
  positiveInteger,
} from "../base/checked_options.ts";
import { EventHeap, RANK } from "../base/event_heap.ts";
import { Prng } from "../base/prng.ts";

/** Sources that are alike. */
export interface StreamSources {
  /** How many. */
  streams: number;
  /** From one frame of a source to its next. */
  periodNs: number;
  /** A frame arrives up to so much later than it is made; default 0. */
  jitterNs?: number;
  /** Mean time from the end of one stall of a source to its next; default Infinity, none. */
  stallEveryNs?: number;
  /** Mean length of a stall; default: ten periods. */
  stallNs?: number;
}

/** Options of {@linkcode streamLoad}. */
export interface StreamLoadOptions {
  /** Groups of sources; streams are numbered through them in order. */
  sources: readonly StreamSources[];
  /** Frames that are made before this time arrive, and no others. */
  durationNs: number;
  /** Equal seeds give equal loads. */
  seed: number;
}

/** A frame that arrives. */
export interface StreamArrival {
  /** Which stream, from 0, through all groups. */
  readonly stream: number;
  /** Which group of sources. */
  readonly group: number;
  /** Number of the frame in its stream, from 0. */
  readonly frame: number;
  /** When the source made it: what a person who listens measures latency from. */
  readonly madeNs: number;
  /** When it is at the server. */
  readonly atNs: number;
}

/** Seeds of sources. */
const SEEDS = 2 ** 31;

const isTime = number(
  "a positive number of nanoseconds",
  (value) => value > 0 && Number.isFinite(value),
);

const SOURCE_CHECKS: Checks<StreamSources> = {
  streams: positiveInteger,
  periodNs: isTime,
  jitterNs: finiteNonNegative,
  stallEveryNs: number(
    "a positive number of nanoseconds, or Infinity",
    (value) => value > 0,
  ),
  stallNs: isTime,
};

const LOAD_CHECKS: Checks<StreamLoadOptions> = {
  sources: ofType("object"),
  durationNs: isTime,
  seed: number("an integer", (value) => Number.isSafeInteger(value)),
};

/**
 * Frames in order of arrival, made as they are asked for: memory grows with the streams, not with the frames.
 * @throws TypeError or RangeError on an option that is not one
 *
 * @example A hundred callers; one in ten seconds a caller's network holds back what it has for 80 ms or so
 * ```ts
 * import assert from "node:assert/strict";
 * import { streamLoad } from "@shoal/core/simulate";
 *
 * const load = streamLoad({
 *   sources: [{ streams: 100, periodNs: 8e6, jitterNs: 2e6, stallEveryNs: 10e9, stallNs: 80e6 }],
 *   durationNs: 1e9,
 *   seed: 1,
 * });
 * let frames = 0;
 * let lastNs = 0;
 * for (const { atNs } of load) {
 *   assert(atNs >= lastNs);
 *   lastNs = atNs;
 *   frames++;
 * }
 * assert.equal(frames, 100 * 125);
 * ```
 */
export function* streamLoad(
  options: StreamLoadOptions,
): Generator<StreamArrival, void, undefined> {
  const { sources, durationNs, seed } = checkedOptions(
    "streamLoad",
    options,
    LOAD_CHECKS,
    ["sources", "durationNs", "seed"],
  );
  const heap = new EventHeap<Upcoming>();
  const prng = new Prng(seed).fork("sources");
  let stream = 0;
  sources.forEach((given, group) => {
    const checked = checkedOptions("A group of streams", given, SOURCE_CHECKS, [
      "streams",
      "periodNs",
    ]);
    for (let i = 0; i < checked.streams; i++) {
      // Not forked by number: first draws of labels that are alike are, too.
      const source = new Source(checked, new Prng(prng.int(SEEDS)));
      const upcoming = new Upcoming(stream++, group, source);
      if (upcoming.madeNs < durationNs) heap.push(upcoming);
    }
  });
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) {
    const { stream, group, frame, madeNs, atNs } = next;
    yield { stream, group, frame, madeNs, atNs };
    next.advance();
    if (next.madeNs < durationNs) heap.push(next);
  }
}

/** When one source's frames are made, and when each arrives. */
class Source {
  readonly #options: Required<StreamSources>;
  readonly #prng: Prng;
  readonly #phaseNs: number;
  #stallFromNs: number;
  #stallToNs: number;

  constructor(options: StreamSources, prng: Prng) {
    const { periodNs, jitterNs, stallEveryNs, stallNs } = options;
    this.#options = {
      ...options,
      jitterNs: jitterNs ?? 0,
      stallEveryNs: stallEveryNs ?? Infinity,
      stallNs: stallNs ?? 10 * periodNs,
    };
    this.#prng = prng;
    this.#phaseNs = prng.float() * periodNs;
    this.#stallFromNs = this.#stallToNs = 0;
    this.#nextStall();
  }

  madeNs(frame: number): number {
    // Not rounded: a phase just below the period is none of its own.
    return Math.floor(this.#phaseNs + frame * this.#options.periodNs);
  }

  /** When a frame arrives that was made then; asked in the order of frames. */
  arrivalNs(madeNs: number): number {
    while (madeNs >= this.#stallToNs) this.#nextStall();
    const sentNs = madeNs < this.#stallFromNs ? madeNs : this.#stallToNs;
    return Math.round(sentNs + this.#prng.float() * this.#options.jitterNs);
  }

  #nextStall(): void {
    const { stallEveryNs, stallNs } = this.#options;
    if (stallEveryNs === Infinity) {
      this.#stallFromNs = this.#stallToNs = Infinity;
      return;
    }
    this.#stallFromNs = this.#stallToNs + this.#prng.exponential(stallEveryNs);
    this.#stallToNs = this.#stallFromNs + this.#prng.exponential(stallNs);
  }
}

/** The frame of a stream that arrives next. */
class Upcoming {
  readonly rank = RANK.arrival;
  frame = 0;
  madeNs: number;
  atNs: number;

  constructor(
    readonly stream: number,
    readonly group: number,
    readonly source: Source,
  ) {
    this.madeNs = source.madeNs(0);
    this.atNs = source.arrivalNs(this.madeNs);
  }

  advance(): void {
    this.madeNs = this.source.madeNs(++this.frame);
    // A frame that overtook the one before would be held back by whoever puts them in order.
    this.atNs = Math.max(this.atNs, this.source.arrivalNs(this.madeNs));
  }
}
