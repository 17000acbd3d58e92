/** A run of `deno task reproduce`, as its report and reproduce.json have it. */
import type { JudgedPaper, Tally } from "./judge.ts";

export interface ReproduceResult {
  readonly startedAt: string;
  readonly command: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly seed: number;
  readonly runs: number;
  readonly quick: boolean;
  readonly full: boolean;
  /** Of the whole run, with what came from the cache. */
  readonly seconds: number;
  /** Of all threads: what the run takes on a machine that others use as well. */
  readonly cpuSeconds: number;
  readonly tally: Tally;
  readonly papers: readonly JudgedPaper[];
  /** What is wrong with what was found; empty in a run that is as it should be. */
  readonly problems: readonly string[];
}
