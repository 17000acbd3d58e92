/** A peer's frame by itself: the files in turn, nothing else. */
import { timePerRequest } from "../../onnx/timing.ts";
import { cpuMs, cpuSince } from "../cpu.ts";
import type { StepFile } from "../models.ts";
import type { StreamPeer } from "./runtimes.ts";
import { StreamFile } from "./stream_file.ts";

const ROUNDS = 3;
const ROUND_MS = 400;
const WARM_MS = 200;

/** Frames by themselves, of sessions that stay open. */
export interface OpenFrames {
  /** All files for frames of so many rows, for a while: milliseconds by the clock, and CPU time of all threads. */
  time(): Promise<{ ms: number; cpuMs: number }>;
  close(): Promise<void>;
}

/** Frames for files of so many rows, no two of them alike; the files are warm then. */
export async function openFrames(
  peer: StreamPeer,
  steps: readonly StepFile[],
  rows = 1,
): Promise<OpenFrames> {
  const stages = await Promise.all(steps.map(async (step) => {
    const file = new StreamFile(peer, step);
    const session = await file.session();
    return { session, run: file.open(session), frame: framesOf(file, rows) };
  }));
  let asked = 0;
  const ask = async () => {
    asked++;
    for (const { run, frame } of stages) await run(frame);
  };
  await timePerRequest(ask, { lanes: 1, leastMs: WARM_MS });
  return {
    async time() {
      const before = cpuMs();
      asked = 0;
      const ms = await timePerRequest(ask, { lanes: 1, leastMs: ROUND_MS });
      return { ms, cpuMs: cpuSince(before).all / asked };
    },
    async close() {
      for (const { session } of stages) await session.release();
    },
  };
}

/** The best of some rounds, ms. */
export async function frameTime({ time }: OpenFrames): Promise<number> {
  let ms = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    ms = Math.min(ms, (await time()).ms);
  }
  return ms;
}

/**
 * What a file of so many rows makes of a first frame, and what the same file of one row makes of each.
 * @returns both, one row after the other
 */
export async function batchResults(
  peer: StreamPeer,
  [step]: readonly StepFile[],
  [alone]: readonly StepFile[],
  rows: number,
): Promise<{ batch: Float32Array; apart: number[] }> {
  const [file, single] = [step, alone].map((one) => new StreamFile(peer, one));
  const sessions = [await file.session(), await single.session()];
  const frames = framesOf(file, rows);
  const batch = Float32Array.from(await file.open(sessions[0])(frames));
  const apart: number[] = [];
  const { width } = single;
  for (let at = 0; at < frames.length; at += width) {
    const run = single.open(sessions[1]);
    apart.push(...await run(frames.slice(at, at + width)));
  }
  for (const session of sessions) await session.release();
  return { batch, apart };
}

/** A frame of each row, each a tone of its own: what mixes rows gives others. */
function framesOf({ width }: StreamFile, rows: number): Float32Array {
  const each = width / rows;
  return Float32Array.from({ length: width }, (_, i) => {
    const row = Math.floor(i / each);
    return 0.1 * Math.sin((1 + row) * (1 + i % each));
  });
}
