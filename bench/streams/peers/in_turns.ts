/**
 * What a frame takes in several ways, in turns: a virtual machine is a third slower from one minute to the next, so
 * that what is measured minutes apart is not to be compared.
 */
import { progress } from "../../../src/cli/terminal.ts";

/** Measures once: microseconds of CPU time of a frame, all threads. */
export type Way = () => Promise<number>;

const ROUNDS = 5;

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
