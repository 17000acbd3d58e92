/** ONNX Runtime on the same model: what a frame takes, and how many streams are carried under the same load. */
import { progress } from "../../../src/cli/terminal.ts";
import { ServingEngine } from "../../../src/engine/wall/serving.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { timePerRequest } from "../../onnx/timing.ts";
import { findInShort, SHORT_LATE_MAX } from "../capacity.ts";
import type { StepFile, StreamSubject } from "../models.ts";
import type { StreamSettings } from "../settings.ts";
import { runTrial, type Trial, type TrialEngine } from "../trial.ts";
import { PeerEngine, type Sessions } from "./peer_engine.ts";
import type { StreamPeer } from "./runtimes.ts";
import { StreamFile } from "./stream_file.ts";

/** One way of running streams on a peer. */
export interface PeerStreams {
  readonly peer: string;
  /** Each stream with its own sessions, all with one; or the frames of so many streams at once, batched by hand. */
  readonly sessions: Sessions | "batch";
  readonly rows: number;
  /** The models alone, one frame (or batch) after the other, through one session. */
  readonly frameMs: number;
  /** Frames of that time that fit into a period: more than are carried with all else that a stream is. */
  readonly fit: number;
  /**
   * The most that a short trial of the engine's load carries, with all else; undefined where that is none, and for
   * batches, which nobody gathers for these runtimes. More is asked of the engine: a longer trial with fewer late
   * frames, in which pauses of the collector count that these runtimes have more of.
   */
  readonly carried: Trial | undefined;
}

/** Rows batched by hand: the files take so many and no others. */
const BATCHES = [16, 64, 256];
const ROUNDS = 3;
const ROUND_MS = 400;
const WARM_MS = 200;
/** Share of a period that a search begins with: beyond it frames wait for each other. */
const BUSY = 0.9;
const STREAMS_MAX = 2048;
/** Frames that are compared, and how far apart results may be, of the largest: int8 rounds elsewhere. */
const COMPARED = 12;
const TOLERANCE = 0.01;

/** @throws Error where a peer's results are others than ours */
export async function measurePeers(
  subject: StreamSubject,
  peers: readonly StreamPeer[],
  settings: StreamSettings,
): Promise<PeerStreams[]> {
  const { name, periodMs, onPeers } = subject;
  const ours = await resultsOf(subject);
  const measured: PeerStreams[] = [];
  for (const peer of peers) {
    progress(`${name}: ${peer.name}, a frame`);
    const { ms: frameMs, first } = await timeFrame(peer, onPeers.files(1)!);
    const timeOf = (ms: number) => ({ frameMs: ms, fit: ~~(periodMs / ms) });
    for (const sessions of ["each", "one"] as const) {
      const carried = await carriedBy(
        new PeerEngine(peer, onPeers, sessions),
        { subject, ours, from: BUSY * periodMs / frameMs, settings },
      );
      const way = { peer: peer.name, sessions, rows: 1, carried };
      measured.push({ ...way, ...timeOf(frameMs) });
    }
    for (const rows of BATCHES) {
      const files = onPeers.files(rows);
      if (files === undefined) continue;
      progress(`${name}: ${peer.name}, ${rows} frames at once`);
      const batch = await timeFrame(peer, files, rows);
      const repeated = Array.from({ length: rows }, () => [...first]).flat();
      assertAlike(batch.first, repeated, `${peer.name}, ${rows} rows`);
      const way = { peer: peer.name, sessions: "batch", rows } as const;
      const time = timeOf(batch.ms / rows);
      measured.push({ ...way, ...time, carried: undefined });
    }
  }
  return measured;
}

/** How many streams a peer carries, searched for as the engine's. */
async function carriedBy(
  engine: PeerEngine,
  { subject, ours, from, settings: { seed, seconds } }: {
    subject: StreamSubject;
    ours: readonly Float32Array[];
    from: number;
    settings: StreamSettings;
  },
): Promise<Trial | undefined> {
  const label = `${subject.name}: ${engine.label}`;
  const attempt = async (streams: number) => {
    progress(`${label}, ${streams} streams, ${seconds} s`);
    await engine.prepare(streams);
    const lateMax = SHORT_LATE_MAX;
    return runTrial(engine, subject, { streams, seconds, seed, lateMax });
  };
  try {
    await engine.prepare(1);
    const theirs = await framesOf(engine, subject);
    theirs.forEach((data, i) => assertAlike(data, ours[i], label));
    await attempt(1);
    const search = { attempt, from: Math.round(from), most: STREAMS_MAX };
    return (await findInShort(search)).carried;
  } finally {
    await engine.release();
  }
}

/** Best of some rounds: milliseconds of a run of all files in turn; and what the first frame comes to in the last. */
async function timeFrame(
  peer: StreamPeer,
  steps: readonly StepFile[],
  rows = 1,
): Promise<{ ms: number; first: Float32Array }> {
  const files = steps.map((step) => new StreamFile(peer, step));
  const stages = await Promise.all(files.map(async (file) => {
    const session = await file.session();
    const width = file.width / rows;
    // The same in every row, so that what comes out can be compared.
    const frame = Float32Array.from(
      { length: file.width },
      (_, i) => 0.1 * Math.sin(1 + i % width),
    );
    return { session, run: file.open(session), frame };
  }));
  let first = new Float32Array();
  for (const { run, frame } of stages) {
    first = Float32Array.from(await run(frame));
  }
  const ask = async () => {
    for (const { run, frame } of stages) await run(frame);
  };
  await timePerRequest(ask, { lanes: 1, leastMs: WARM_MS });
  let ms = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const time = { lanes: 1, leastMs: ROUND_MS };
    ms = Math.min(ms, await timePerRequest(ask, time));
  }
  for (const { session } of stages) await session.release();
  return { ms, first };
}

/** What the engine makes of a stream's first frames. */
async function resultsOf(subject: StreamSubject): Promise<Float32Array[]> {
  await using engine = await ServingEngine.create({
    models: [subject.model],
    policy: cellular(),
    workers: 0,
    warmUp: false,
  });
  return await framesOf(engine, subject);
}

async function framesOf(
  engine: TrialEngine,
  { model, frame, onPeers }: StreamSubject,
): Promise<Float32Array[]> {
  const stream = engine.open(model, {});
  const results: Float32Array[] = [];
  for (let i = 0; i < COMPARED; i++) {
    const { outputs } = await stream.push(frame(0, i));
    results.push(
      Float32Array.from(outputs[onPeers.output].data as Float32Array),
    );
  }
  await stream.close();
  return results;
}

function assertAlike(
  got: ArrayLike<number>,
  wanted: ArrayLike<number>,
  whose: string,
): void {
  let [most, worst] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    most = Math.max(most, Math.abs(wanted[i]));
    worst = Math.max(worst, Math.abs(got[i] - wanted[i]));
  }
  if (got.length === wanted.length && worst <= TOLERANCE * most) return;
  throw new Error(
    `${whose}: results are off by ${worst}, the largest is ${most}`,
  );
}
