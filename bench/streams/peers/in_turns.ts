/**
 * What a frame takes in several ways, in turns: a virtual machine is a third slower from one minute to the next, so
 * that what is measured minutes apart is not to be compared.
 */
import { progress } from "../../../src/cli/terminal.ts";
import type { StreamSubject } from "../models.ts";
import { runTrial, type TrialEngine } from "../trial.ts";

/** Measures once: microseconds of a frame. */
export type Way = () => Promise<number>;

const ROUNDS = 5;
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

/** Microseconds of CPU time of a frame that was done, all threads, under load. */
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

/** @returns for each way what it came to in each round */
export async function inTurns(
  what: string,
  ways: readonly Way[],
): Promise<number[][]> {
  const us: number[][] = ways.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    progress(`${what}: in turns, ${round + 1} of ${ROUNDS}`);
    for (const [i, way] of ways.entries()) us[i].push(await way());
  }
  return us;
}
