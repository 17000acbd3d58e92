/** Measures one model: how many streams are carried, what a stream costs at half of that, beside the peers. */
import { memoryUsage } from "node:process";
import { policyOptions } from "../../src/cli/policy_options.ts";
import { msToNs } from "../../src/base/units.ts";
import { progress } from "../../src/cli/terminal.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { collectGarbage } from "../soak/collect_garbage.ts";
import { type Capacity, findCapacity, SHORT_LATE_MAX } from "./capacity.ts";
import { frameProfile } from "./frame_profile.ts";
import type { StreamSubject } from "./models.ts";
import { measureOverhead, type Overhead } from "./overhead.ts";
import { measurePeers, type PeerStreams } from "./peers/measure_peers.ts";
import type { StreamPeer } from "./peers/runtimes.ts";
import type { StreamSettings } from "./settings.ts";
import { type Soaked, soakStreams } from "./soak.ts";
import { type Simulated, simulateStreams } from "./simulated.ts";
import { LATE_MAX, runTrial, type Trial } from "./trial.ts";

/** One policy on so many workers. */
export interface Carried extends Capacity {
  readonly policy: string;
  readonly workers: number;
  /** Half of the streams that are carried. */
  readonly half: Trial | undefined;
}

/** Everything about a model. */
export interface ModelStreams {
  readonly model: string;
  readonly periodMs: number;
  readonly carried: readonly Carried[];
  readonly peers: readonly PeerStreams[];
  /** Nanoseconds of a batch, by cell and rows. */
  readonly profile: ProfileTable;
  /** Bytes of the heap that an open stream takes, and of its state. */
  readonly heapBytes: number;
  readonly stateBytes: number;
  readonly simulated: readonly Simulated[];
  readonly overhead: Overhead;
  /** Where minutes were asked for. */
  readonly soaked?: Soaked;
}

const SLOT_BYTES = 2 ** 29;
/** Streams of a first trial, in which everything becomes warm. */
const FEW = 16;
/** Share of its time that a thread may compute, or so, before frames are late. */
const BUSY = 0.75;
const STREAMS_MAX = 16_384;
const OPENED = 1000;
const SOAK_LOAD = 0.8;

export async function measureStreams(
  subject: StreamSubject,
  settings: StreamSettings,
  peers: readonly StreamPeer[],
): Promise<ModelStreams> {
  const { name, model, periodMs } = subject;
  progress(`${name}: batches of frames`);
  const profile = await frameProfile(subject);
  const { batchSizeMax, seed, seconds, confirmSeconds } = settings;
  const build = (policy: string): Policy =>
    POLICIES[policy].build(policyOptions(policy, { batchSizeMax, profile }));
  const created = (policy: string, workers: number) =>
    ServingEngine.create({
      models: [model],
      policy: build(policy),
      workers,
      slotBytes: SLOT_BYTES,
    });
  const carried: Carried[] = [];
  let soaked: Soaked | undefined;
  for (const policy of settings.policies) {
    if (build(policy).supports(model) !== undefined) continue;
    for (const workers of settings.workers) {
      await using engine = await created(policy, workers);
      const trialOf =
        (seconds: number, lateMax: number) => (streams: number) => {
          progress(
            `${name}: ${policy}, ${workers} workers, ${streams} streams, ${seconds} s`,
          );
          return runTrial(engine, subject, { streams, seconds, seed, lateMax });
        };
      const attempt = trialOf(seconds, SHORT_LATE_MAX);
      const few = await attempt(FEW);
      const capacity = await findCapacity({
        attempt,
        confirm: trialOf(confirmSeconds, LATE_MAX),
        from: Math.round(BUSY * fitting(subject, profile, workers)),
        most: STREAMS_MAX,
      });
      const halved = Math.floor(capacity.streams / 2);
      const half = halved > 0 ? await attempt(halved) : undefined;
      const trials = [few, ...capacity.trials, ...half ? [half] : []]
        .sort((a, b) => a.streams - b.streams);
      carried.push({ policy, workers, ...capacity, trials, half });
      if (settings.soakMinutes > 0 && carried.length === 1) {
        const streams = Math.floor(SOAK_LOAD * capacity.streams);
        const minutes = settings.soakMinutes;
        progress(`${name}: ${streams} streams for ${minutes} minutes`);
        soaked = await soakStreams(engine, subject, { streams, minutes, seed });
      }
    }
  }
  const simulated: Simulated[] = [];
  for (const streams of settings.simulated) {
    progress(`${name}: ${streams} streams on virtual time`);
    const policy = build(settings.policies[0]);
    simulated.push(simulateStreams(subject, policy, profile, streams, seed));
  }
  progress(`${name}: the engine's thread`);
  const overhead = await measureOverhead(subject, batchSizeMax, seed);
  progress(`${name}: beside peers`);
  const [first] = carried;
  await using engine = first && await created(first.policy, first.workers);
  const ours = engine &&
    { engine, fit: fitting(subject, profile, first.workers) };
  const besides = await measurePeers(subject, peers, settings, ours);
  return {
    model: name,
    periodMs,
    carried,
    overhead,
    peers: besides,
    profile,
    ...await memoryOf(subject),
    simulated,
    ...(soaked && { soaked }),
  };
}

/** Streams that so many threads have the time for, in the largest batches. */
function fitting(
  { periodMs }: StreamSubject,
  profile: ProfileTable,
  workers: number,
): number {
  const frameNs = Object.values(profile).reduce((sum, curve) => {
    const [rows, ns] = curve[curve.length - 1];
    return sum + ns / rows;
  }, 0);
  const threads = Math.max(1, workers);
  return Math.floor(threads * msToNs(periodMs) / frameNs);
}

/** What streams take that are open and have had a frame. */
async function memoryOf(
  subject: StreamSubject,
): Promise<{ heapBytes: number; stateBytes: number }> {
  const { model } = subject;
  await using engine = await ServingEngine.create({
    models: [model],
    policy: POLICIES["cellular"].build(),
    workers: 0,
    slotBytes: SLOT_BYTES,
  });
  const opened = (count: number) =>
    Promise.all(Array.from({ length: count }, async (_, stream) => {
      const session = engine.open(model);
      await session.push(subject.frame(stream, 0));
      return session;
    }));
  await opened(1);
  collectGarbage();
  const before = memoryUsage().heapUsed;
  const sessions = await opened(OPENED);
  collectGarbage();
  const heapBytes = (memoryUsage().heapUsed - before) / OPENED;
  const stateBytes = Object.values(model.stream.states).reduce(
    (sum, { dtype, width }) => sum + width * (dtype === "i64" ? 8 : 4),
    0,
  );
  await Promise.all(sessions.map((session) => session.close()));
  return { heapBytes, stateBytes };
}
