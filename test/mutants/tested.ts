/** Runs one entry of a mutant's tests in a copy of the project. */
import type { ProjectCopy } from "../project_copy.ts";
import { type MutantTest, PROPERTY_RUNS } from "./mutant.ts";

export interface Tested {
  /**
   * "broken": nothing ran, since a file could not be loaded or no test has such a name; "crashed": the runtime did not
   * end well after all tests had passed.
   */
  readonly outcome: "passed" | "failed" | "timeout" | "broken" | "crashed";
  readonly seconds: number;
  /** What the runner printed. */
  readonly text: string;
}

const PRELOAD = "test/mutants/steady_properties.ts";

export function asTest(test: string | MutantTest): MutantTest {
  return typeof test === "string" ? { file: test } : test;
}

/** In a few words, for people. */
export function nameOf({ file, filter }: MutantTest): string {
  return filter === undefined ? file : `${file} (${filter})`;
}

export async function tested(
  copy: ProjectCopy,
  { file, filter, runs = PROPERTY_RUNS }: MutantTest,
  timeoutMs: number,
): Promise<Tested> {
  const startMs = performance.now();
  const { code, text } = await copy.deno(
    [
      ...["test", "-A", "--no-check", "--fail-fast", "--preload", PRELOAD],
      ...(filter === undefined ? [] : ["--filter", filter]),
      file,
    ],
    { SHOAL_PROPERTY_RUNS: String(runs), SHOAL_PROPERTY_SEED: "1" },
    Math.ceil(timeoutMs),
  );
  const elapsedMs = performance.now() - startMs;
  return {
    outcome: Number.isNaN(code) && elapsedMs >= timeoutMs
      ? "timeout"
      : outcomeOf(code, text),
    seconds: elapsedMs / 1000,
    text,
  };
}

const HAS_PASSED = /^ok \| [1-9]\d* passed.* \| 0 failed/m;

/** What an exit code and what was printed say of a run that had the time. */
export function outcomeOf(code: number, text: string): Tested["outcome"] {
  // A file that cannot be loaded fails, too, before any of its tests is begun.
  if (!/^running [1-9]\d* tests? from /m.test(text)) return "broken";
  if (code !== 0) return HAS_PASSED.test(text) ? "crashed" : "failed";
  return /\| [1-9]\d* passed/.test(text) ? "passed" : "broken";
}
