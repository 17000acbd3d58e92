/** A peer's frame by itself: the files in turn, nothing else. */
import { timePerRequest } from "../../onnx/timing.ts";
import type { StepFile } from "../models.ts";
import type { StreamPeer } from "./runtimes.ts";
import { StreamFile } from "./stream_file.ts";

const ROUNDS = 3;
const ROUND_MS = 400;
const WARM_MS = 200;

/**
 * Runs frames through files of so many rows.
 * @returns milliseconds of all files, the best of some rounds, and what the last file's first frame came to: all rows
 * are alike
 */
export async function frameTime(
  peer: StreamPeer,
  steps: readonly StepFile[],
  rows = 1,
): Promise<{ ms: number; first: Float32Array }> {
  const stages = await Promise.all(steps.map(async (step) => {
    const file = new StreamFile(peer, step);
    const session = await file.session();
    const width = file.width / rows;
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
