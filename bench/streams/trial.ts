/** Live streams in real time: so many sources, each with a frame in every period, for so long. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { msToNs, nsToMs } from "../../src/base/units.ts";
import type { ServingEngine } from "../../src/engine/wall/serving.ts";
import { LogHistogram } from "../soak/histogram.ts";
import { streamLoad } from "../../src/workload/stream_load.ts";
import { cpuMs, cpuSince } from "./cpu.ts";
import type { StreamSubject } from "./models.ts";

/** How a trial is driven. */
export interface TrialOptions {
  streams: number;
  /** Measured, after a quarter of it that is not, of 2 s at most. */
  seconds: number;
  seed: number;
  /** Frames arrive up to so much later than they are made; default 0. */
  jitterMs?: number;
  /** Called every so often while frames are measured. */
  watch?: { everyMs: number; look(): void };
}

/** What came of it. */
export interface Trial {
  readonly streams: number;
  /** That were due in the time measured. */
  readonly frames: number;
  /** Share of them that were done later than a period after they were due, or not at all. */
  readonly late: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Cores in use, in the mean: CPU time of all threads. */
  readonly cores: number;
  /** Of the engine's own thread, which makes the frames and pushes them as well; undefined where nobody tells. */
  readonly mainCores: number | undefined;
}

/** Share of late frames that a load may have which a machine carries: p99.9 is within the period. */
export const LATE_MAX = 0.001;

const WARM_SHARE = 0.25;
const WARM_MAX_MS = 2000;
/** Frames that may wait in a stream: a load that is carried has hardly two. */
const PENDING_MAX = 64;
/** Periods by which the generator may be behind before there is no use in going on. */
const BEHIND_PERIODS = 10;

/**
 * Runs a load. Frames are due whatever the engine does (open loop), and latency counts from when one is due. The
 * generator lives in the engine's thread, whose timers have a resolution of a millisecond or so: that counts, too.
 */
export async function runTrial(
  engine: ServingEngine,
  subject: StreamSubject,
  { streams, seconds, seed, jitterMs = 0, watch }: TrialOptions,
): Promise<Trial> {
  const { model, periodMs } = subject;
  const sessions = Array.from(
    { length: streams },
    () => engine.open(model, { pendingMax: PENDING_MAX }),
  );
  const warmMs = Math.min(WARM_MAX_MS, WARM_SHARE * 1000 * seconds);
  const load = streamLoad({
    sources: [{
      streams,
      periodNs: msToNs(periodMs),
      jitterNs: msToNs(jitterMs),
    }],
    durationNs: msToNs(warmMs + 1000 * seconds),
    seed,
  });
  const latenciesMs = new LogHistogram();
  let onTime = 0;
  let looks = 0;
  let frames = 0;
  let isBehind = false;
  let from: { cpu: ReturnType<typeof cpuMs>; atMs: number } | undefined;
  let yieldedMs = performance.now();
  const startMs = yieldedMs;
  for (const { stream, frame, atNs } of load) {
    const dueMs = startMs + nsToMs(atNs);
    let nowMs = performance.now();
    while (nowMs < dueMs) {
      await sleep(1);
      nowMs = yieldedMs = performance.now();
    }
    // The engine has its turns also when the generator is behind.
    if (nowMs > yieldedMs + 1) {
      await setImmediate();
      nowMs = yieldedMs = performance.now();
    }
    isBehind = nowMs > dueMs + BEHIND_PERIODS * periodMs;
    if (isBehind) break;
    const counts = dueMs >= startMs + warmMs;
    if (counts) {
      frames++;
      from ??= { cpu: cpuMs(), atMs: nowMs };
      if (watch && nowMs - from.atMs >= looks * watch.everyMs) {
        looks++;
        watch.look();
      }
    }
    sessions[stream].push(subject.frame(stream, frame)).then(
      () => {
        if (!counts) return;
        const ms = performance.now() - dueMs;
        latenciesMs.add(ms);
        if (ms <= periodMs) onTime++;
      },
      () => {},
    );
  }
  const spent = from && cpuSince(from.cpu);
  const wallMs = performance.now() - (from?.atMs ?? startMs);
  await Promise.all(sessions.map((session) => session.close()));
  // Frames that were never done are the slowest.
  const quantile = (share: number) => {
    const place = share * frames / latenciesMs.count;
    return isBehind || !(place <= 1) ? Infinity : latenciesMs.percentile(place);
  };
  return {
    streams,
    frames,
    late: isBehind || frames === 0 ? 1 : 1 - onTime / frames,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    p999Ms: quantile(0.999),
    cores: spent ? spent.all / wallMs : NaN,
    mainCores: spent?.main === undefined ? undefined : spent.main / wallMs,
  };
}
