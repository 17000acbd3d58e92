/** Live streams in real time: so many sources, each with a frame in every period, for so long. */
import { setImmediate } from "node:timers/promises";
import { msToNs, nsToMs } from "../../src/base/units.ts";
import type { StreamOptions } from "../../src/engine/wall/stream_session.ts";
import type { Result } from "../../src/graph/result.ts";
import type { Frame, StreamModel } from "../../src/graph/stream_model.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { streamLoad } from "../../src/workload/stream_load.ts";
import { watchOthers } from "../../src/cli/watch_others.ts";
import type { StreamSubject } from "./models.ts";
import { watchDisturbance } from "./disturbance.ts";
import { Slices, type Tally } from "./slices.ts";

/** What a trial needs of an engine: a ServingEngine is one. */
export interface TrialEngine {
  /** Threads that compute besides its own. */
  readonly threads: number;
  /** Makes what so many streams need before frames are due, where that takes time. */
  prepare?(streams: number): Promise<void>;
  open(model: StreamModel, options: StreamOptions): {
    push(
      frame: Frame,
      options?: { into: Record<string, TensorData> },
    ): Promise<{ readonly outputs: Result }>;
    close(): Promise<void>;
  };
}

/** How a trial is driven. */
export interface TrialOptions {
  streams: number;
  /** That count, after a quarter of it that does not, of 2 s at most: those in which other processes had the machine do not. */
  seconds: number;
  /** No longer than this, whatever counts; default three times as long. */
  secondsMax?: number;
  seed: number;
  /** Frames arrive up to so much later than they are made; default 0. */
  jitterMs?: number;
  /**
   * A trial ends when a larger share of its frames were late, or the generator is far behind; default LATE_MAX. With 1
   * it never does.
   */
  lateMax?: number;
  /** Called every so often while frames are measured. */
  watch?: { everyMs: number; look(): void };
}

/** What came of it. */
export interface Trial {
  readonly streams: number;
  /** That were due in the time that counts; where none does, in all of it. */
  readonly frames: number;
  /** Share of them that were done at all: who has more than it carries refuses the rest. */
  readonly done: number;
  /** Share of them that were done later than a period after they were due, or not at all. */
  readonly late: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Cores in use, in the mean: CPU time of all threads. */
  readonly cores: number;
  /** Of the engine's own thread, which makes the frames and pushes them as well; undefined where nobody tells. */
  readonly mainCores: number | undefined;
  /** That do not count. */
  readonly disturbedSeconds: number;
  /** Share of the machine that other processes had in all of the time. */
  readonly others: number;
}

/** Share of late frames that a load may have which a machine carries: p99.9 is within the period. */
export const LATE_MAX = 0.001;

const WARM_SHARE = 0.25;
const WARM_MAX_MS = 2000;
const SLICE_MS = 1000;
/** A trial takes so many times as long where others have the machine. */
const LONGEST = 3;
/** Frames that may wait in a stream: a load that is carried has hardly two. */
const PENDING_MAX = 64;
/** Periods by which the generator may be behind before there is no use in going on. */
const BEHIND_PERIODS = 10;

/**
 * Runs a load. Frames are due whatever the engine does (open loop), and latency counts from when one is due. The
 * generator lives in the engine's thread, whose timers have a resolution of a millisecond or so: that counts, too.
 */
export async function runTrial(
  engine: TrialEngine,
  subject: StreamSubject,
  {
    streams,
    seconds,
    secondsMax = LONGEST * seconds,
    seed,
    jitterMs = 0,
    lateMax = LATE_MAX,
    watch,
  }: TrialOptions,
): Promise<Trial> {
  const { model, periodMs } = subject;
  const sessions = Array.from(
    { length: streams },
    () => engine.open(model, { pendingMax: PENDING_MAX }),
  );
  /** What the first frame gave is written to again and again, as by someone who reads it at once. */
  const given: ({ into: Record<string, TensorData> } | undefined)[] = [];
  const warmMs = Math.min(WARM_MAX_MS, WARM_SHARE * 1000 * seconds);
  const load = streamLoad({
    sources: [{
      streams,
      periodNs: msToNs(periodMs),
      jitterNs: msToNs(jitterMs),
    }],
    durationNs: msToNs(warmMs + 1000 * secondsMax),
    seed,
  });
  const framesMost = streams * 1000 * seconds / periodMs;
  const slices = new Slices(
    Math.min(SLICE_MS, 1000 * seconds),
    () => watchDisturbance(engine.threads === 0),
  );
  const othersSince = watchOthers();
  let looks = 0;
  let isBehind = false;
  let yieldedMs = performance.now();
  const startMs = yieldedMs;
  const measuredMs = startMs + warmMs;
  for (const { stream, frame, atNs } of load) {
    const dueMs = startMs + nsToMs(atNs);
    let nowMs = performance.now();
    while (nowMs < dueMs) {
      await tick();
      nowMs = yieldedMs = performance.now();
    }
    // The engine has its turns also when the generator is behind.
    if (nowMs > yieldedMs + 1) {
      await setImmediate();
      nowMs = yieldedMs = performance.now();
    }
    const tally = dueMs >= measuredMs ? slices.of(dueMs) : undefined;
    if (lateMax < 1) {
      isBehind = nowMs > dueMs + BEHIND_PERIODS * periodMs &&
        !slices.isDisturbed;
      if (isBehind || slices.late > lateMax * framesMost) break;
    }
    if (slices.counted.frames >= framesMost) break;
    if (tally) {
      tally.frames++;
      if (watch && nowMs - measuredMs >= looks * watch.everyMs) {
        looks++;
        watch.look();
      }
    }
    sessions[stream].push(subject.frame(stream, frame), given[stream]).then(
      ({ outputs }) => {
        given[stream] ??= { into: arraysOf(outputs) };
        if (tally === undefined) return;
        const ms = performance.now() - dueMs;
        tally.latenciesMs.add(ms);
        if (ms <= periodMs) tally.onTime++;
      },
      () => {},
    );
  }
  const others = othersSince();
  await Promise.all(sessions.map((session) => session.close()));
  slices.end();
  const { all, counted } = slices;
  const tally = counted.frames > 0 ? counted : all;
  return {
    streams,
    ...figuresOf(tally, isBehind),
    disturbedSeconds: (all.wallMs - counted.wallMs) / 1000,
    others,
  };
}

function arraysOf(outputs: Result): Record<string, TensorData> {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { data }]) => [name, data]),
  );
}

function figuresOf(
  { frames, onTime, latenciesMs, cpuMs, wallMs }: Tally,
  isBehind: boolean,
): Omit<Trial, "streams" | "disturbedSeconds" | "others"> {
  // Frames that were never done are the slowest.
  const quantile = (share: number) => {
    const place = share * frames / latenciesMs.count;
    return isBehind || !(place <= 1) ? Infinity : latenciesMs.percentile(place);
  };
  return {
    frames,
    done: frames === 0 ? 0 : latenciesMs.count / frames,
    late: isBehind || frames === 0 ? 1 : 1 - onTime / frames,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    p999Ms: quantile(0.999),
    cores: cpuMs.all / wallMs,
    mainCores: cpuMs.main === undefined ? undefined : cpuMs.main / wallMs,
  };
}

/** A millisecond or two; node:timers/promises takes half as much CPU time again. */
function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
