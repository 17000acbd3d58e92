/**
 * CPU time of a frame, of several engines in turns: a virtual machine is a third slower from one minute to the next,
 * so that what is measured minutes apart is not to be compared.
 */
import { progress } from "../../../src/cli/terminal.ts";
import type { StreamSubject } from "../models.ts";
import { runTrial, type TrialEngine } from "../trial.ts";

/** An engine, and streams that it carries. */
export interface Way {
  readonly engine: TrialEngine;
  readonly streams: number;
}

const ROUNDS = 5;

/** @returns for each way and round microseconds of CPU time of a frame that was done, all threads */
export async function inTurns(
  ways: readonly Way[],
  subject: StreamSubject,
  { seconds, seed }: { seconds: number; seed: number },
): Promise<number[][]> {
  const us: number[][] = ways.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    progress(`${subject.name}: in turns, ${round + 1} of ${ROUNDS}`);
    for (const [way, { engine, streams }] of ways.entries()) {
      const { cores, done } = await runTrial(engine, subject, {
        ...{ streams, seconds, seed, secondsMax: seconds, lateMax: 1 },
      });
      us[way].push(1000 * subject.periodMs * cores / (streams * done));
    }
  }
  return us;
}
