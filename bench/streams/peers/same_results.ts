/** Whether a peer makes of frames what the engine makes of them: what computes something else is not compared. */
import { ServingEngine } from "../../../src/engine/wall/serving.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import type { StreamSubject } from "../models.ts";
import type { TrialEngine } from "../trial.ts";

/** Frames of a stream that are looked at. */
const FRAMES = 12;
/** How far apart numbers may be, of the largest: int8 rounds elsewhere. */
const TOLERANCE = 0.01;

/** What our engine makes of a stream's first frames. */
export async function ourResults(
  subject: StreamSubject,
): Promise<Float32Array[]> {
  await using engine = await ServingEngine.create({
    models: [subject.model],
    policy: cellular(),
    workers: 0,
    warmUp: false,
  });
  return await resultsOf(engine, subject);
}

/** What an engine makes of them. */
export async function resultsOf(
  engine: TrialEngine,
  { model, frame, onPeers: { output } }: StreamSubject,
): Promise<Float32Array[]> {
  const stream = engine.open(model, {});
  const results: Float32Array[] = [];
  for (let i = 0; i < FRAMES; i++) {
    const { outputs } = await stream.push(frame(0, i));
    results.push(Float32Array.from(outputs[output].data as Float32Array));
  }
  await stream.close();
  return results;
}

/** How far apart results are, if that is too far to be of the same computation. */
export function differenceOf(
  got: ArrayLike<number>,
  wanted: ArrayLike<number>,
): string | undefined {
  if (got.length !== wanted.length) {
    return `${got.length} elements, not ${wanted.length}`;
  }
  let [most, worst] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    most = Math.max(most, Math.abs(wanted[i]));
    worst = Math.max(worst, Math.abs(got[i] - wanted[i]));
  }
  if (worst <= TOLERANCE * most) return undefined;
  return `off by ${worst.toPrecision(2)} of ${most.toPrecision(2)}`;
}
