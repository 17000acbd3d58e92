/** ONNX Runtime on the same model: what a frame takes, and how many streams are carried under the same load. */
import { progress } from "../../../src/cli/terminal.ts";
import { median } from "../../median.ts";
import { findInShort, SHORT_LATE_MAX } from "../capacity.ts";
import type { StreamSubject } from "../models.ts";
import type { StreamSettings } from "../settings.ts";
import { runTrial, type Trial } from "../trial.ts";
import { batchResults, frameTime, openFrames } from "./frame_time.ts";
import { inTurns, type Way } from "./in_turns.ts";
import { PeerEngine, type Sessions } from "./peer_engine.ts";
import type { StreamPeer } from "./runtimes.ts";
import { type Loaded, underLoad } from "./under_load.ts";
import { differenceOf, ourResults, resultsOf } from "./same_results.ts";

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
  /** How its results differ, where they are not ours, or a batch's not those of its rows alone: nothing is compared. */
  readonly differs?: string;
  /** A frame in turns with the engine, medians of the rounds: CPU time under load; of batches, while nothing else runs. */
  readonly turns?: {
    readonly us: number;
    readonly oursUs: number;
    /** Theirs over ours. */
    readonly ratio: number;
  } | undefined;
}

/** Rows batched by hand: the files take so many and no others. */
const BATCHES = [16, 64, 256];
/** Share of a period that a search begins with: beyond it frames wait for each other. */
const BUSY = 0.9;
const STREAMS_MAX = 2048;

/** @param ours the engine; undefined where none takes the model */
export async function measurePeers(
  subject: StreamSubject,
  peers: readonly StreamPeer[],
  settings: StreamSettings,
  ours: Loaded | undefined,
): Promise<PeerStreams[]> {
  const { name, periodMs, onPeers } = subject;
  const results = await ourResults(subject);
  const measured: PeerStreams[] = [];
  const ways = new Map<PeerStreams, Way>();
  const differing = (way: PeerStreams, label: string) => {
    progress(`${name}: ${label}: results are ${way.differs}`);
    measured.push(way);
  };
  await using sessionsOf = new AsyncDisposableStack();
  for (const peer of peers) {
    progress(`${name}: ${peer.name}, a frame`);
    const alone = onPeers.files(1)!;
    const frames = await openFrames(peer, alone);
    const frameMs = await frameTime(frames);
    await frames.close();
    const timeOf = (ms: number) => ({
      frameMs: ms,
      fit: Math.floor(periodMs / ms),
    });
    for (const sessions of ["each", "one"] as const) {
      const engine = new PeerEngine(peer, onPeers, sessions);
      sessionsOf.defer(() => engine.release());
      await engine.prepare(1);
      const theirs = await resultsOf(engine, subject);
      const time = timeOf(frameMs);
      const way = { peer: peer.name, sessions, rows: 1, ...time } as const;
      const differs = theirs.map((data, i) => differenceOf(data, results[i]))
        .find((difference) => difference !== undefined);
      if (differs !== undefined) {
        differing({ ...way, carried: undefined, differs }, engine.label);
        continue;
      }
      const from = Math.round(BUSY * periodMs / frameMs);
      const carried = await carriedBy(engine, subject, from, settings);
      measured.push({ ...way, carried });
      const load = underLoad({ engine, fit: time.fit }, subject, settings);
      ways.set(measured.at(-1)!, load);
    }
    for (const rows of BATCHES) {
      const files = onPeers.files(rows);
      if (files === undefined) continue;
      progress(`${name}: ${peer.name}, ${rows} frames at once`);
      const both = await batchResults(peer, files, alone, rows);
      const batches = await openFrames(peer, files, rows);
      sessionsOf.defer(batches.close);
      const time = timeOf(await frameTime(batches) / rows);
      const way: PeerStreams = {
        ...{ peer: peer.name, sessions: "batch", rows, ...time },
        carried: undefined,
      };
      const differs = differenceOf(both.batch, both.apart);
      if (differs !== undefined) {
        differing({ ...way, differs }, `${peer.name}, ${rows} rows`);
        continue;
      }
      measured.push(way);
      ways.set(way, async () => 1000 * (await batches.time()).cpuMs / rows);
    }
  }
  const turns = ours &&
    await turnsOf(name, underLoad(ours, subject, settings), ways);
  return measured.map((way) => ({ ...way, turns: turns?.get(way) }));
}

/** How many streams a peer carries, searched for as the engine's. */
async function carriedBy(
  engine: PeerEngine,
  subject: StreamSubject,
  from: number,
  { seed, seconds }: StreamSettings,
): Promise<Trial | undefined> {
  const attempt = async (streams: number) => {
    progress(
      `${subject.name}: ${engine.label}, ${streams} streams, ${seconds} s`,
    );
    await engine.prepare(streams);
    const lateMax = SHORT_LATE_MAX;
    return runTrial(engine, subject, { streams, seconds, seed, lateMax });
  };
  await attempt(1);
  const search = { attempt, from, most: STREAMS_MAX };
  return (await findInShort(search)).carried;
}

/** What each way comes to beside ours. */
async function turnsOf(
  name: string,
  ours: Way,
  ways: ReadonlyMap<PeerStreams, Way>,
): Promise<Map<PeerStreams, PeerStreams["turns"]>> {
  const [oursUs, ...us] = await inTurns(name, [ours, ...ways.values()]);
  return new Map([...ways.keys()].map((way, i) => [way, {
    us: median(us[i]),
    oursUs: median(oursUs),
    ratio: median(us[i].map((us, round) => us / oursUs[round])),
  }]));
}
