/**
 * CPU time of a frame, of several engines in turns: a virtual machine is a third slower from one minute to the next,
 * so that what is measured minutes apart is not to be compared.
 */
import { progress } from "../../../src/cli/terminal.ts";
import type { StreamSubject } from "../models.ts";
import { runTrial, type TrialEngine } from "../trial.ts";

/** An engine, and streams whose frames fit into a period, by the models alone. */
export interface Way {
  readonly engine: TrialEngine;
  readonly fit: number;
}

const ROUNDS = 5;
/**
 * Of what fits: few streams wake a thread for each frame, so that all are as busy as they may be without a queue that
 * grows. What a search finds hangs on pauses of the machine.
 */
const LOAD = 0.6;

/** @returns for each way and round microseconds of CPU time of a frame that was done, all threads */
export async function inTurns(
  ways: readonly Way[],
  subject: StreamSubject,
  { seconds, seed }: { seconds: number; seed: number },
): Promise<number[][]> {
  const us: number[][] = ways.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    progress(`${subject.name}: in turns, ${round + 1} of ${ROUNDS}`);
    for (const [way, { engine, fit }] of ways.entries()) {
      const streams = Math.max(1, Math.round(LOAD * fit));
      await engine.prepare?.(streams);
      const { cores, done } = await runTrial(engine, subject, {
        ...{ streams, seconds, seed, secondsMax: seconds, lateMax: 1 },
      });
      us[way].push(1000 * subject.periodMs * cores / (streams * done));
    }
  }
  return us;
}
