/** What a frame takes of an engine that has streams to carry. */
import type { StreamSubject } from "../models.ts";
import { runTrial, type TrialEngine } from "../trial.ts";
import type { Way } from "./in_turns.ts";

/**
 * Of what fits: few streams wake a thread for each frame, so that all are as busy as they may be without a queue that
 * grows. What a search finds hangs on pauses of the machine.
 */
const LOAD = 0.6;

/** An engine, and streams whose frames fit into a period, by the models alone. */
export interface Loaded {
  readonly engine: TrialEngine;
  readonly fit: number;
}

/** Of frames that were done. */
export function underLoad(
  { engine, fit }: Loaded,
  subject: StreamSubject,
  { seconds, seed }: { seconds: number; seed: number },
): Way {
  const streams = Math.max(1, Math.round(LOAD * fit));
  return async () => {
    await engine.prepare?.(streams);
    const { cores, done } = await runTrial(engine, subject, {
      ...{ streams, seconds, seed, secondsMax: seconds, lateMax: 1 },
    });
    return 1000 * subject.periodMs * cores / (streams * done);
  };
}
