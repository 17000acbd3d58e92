import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { judge, tallyOf } from "../../../bench/reproduce/run/judge.ts";
import {
  type Ran,
  runExperiments,
} from "../../../bench/reproduce/run/run_experiments.ts";
import { PAPERS } from "./papers/two_papers.ts";

async function run(cache: string, ids: readonly string[], jobs: number) {
  const lines: string[] = [];
  const ran = await runExperiments({
    registry: new URL("./papers/two_papers.ts", import.meta.url).href,
    root: fileURLToPath(new URL("../../..", import.meta.url)),
    folder: "test/bench/reproduce/papers",
    cache,
    fresh: false,
    papers: PAPERS,
    experiments: ids,
    jobs,
    seed: 7,
    runs: 4,
    quick: true,
    full: false,
    progress: (line) => lines.push(line),
  });
  return { ran, lines };
}

function outcomes(ran: readonly Ran[]): unknown[] {
  return ran.map((one) => "outcome" in one ? one.outcome : one.error);
}

const ALL = ["made_up.squares", "made_up.failing", "made_up.late"];

Deno.test("experiments run in threads, the exclusive ones last; one that fails stops no other", async () => {
  const cache = mkdtempSync(join(tmpdir(), "shoal-points-"));
  try {
    const { ran, lines } = await run(cache, ALL, 2);
    deepEqual(ran.map(({ id }) => id), [
      "made_up.late",
      "made_up.squares",
      "made_up.failing",
    ]);
    const failed = ran[2];
    ok("error" in failed);
    match(failed.error, /on purpose/);
    match(lines.at(-2)!, /^\[2\/3, \d+ s\] made_up\.late begins$/);
    match(lines.at(-1)!, /made_up\.late done/);
    equal(readdirSync(cache).length, 10);

    const { papers, problems } = judge(PAPERS, ran);
    deepEqual(tallyOf(papers), {
      "to the digit": 1,
      "same direction and size": 1,
      "same direction": 0,
      "not reproduced": 1,
    });
    deepEqual(problems, ["made_up.failing failed"]);

    const again = await run(cache, ALL.slice(0, 1), 1);
    deepEqual(outcomes(again.ran), outcomes(ran.slice(1, 2)));
    match(again.lines.at(-1)!, /, 0 points computed$/);
  } finally {
    rmSync(cache, { recursive: true });
  }
});

Deno.test("threads are on different papers while there are several, the one with most left first", async () => {
  const cache = mkdtempSync(join(tmpdir(), "shoal-points-"));
  try {
    const ids = ["made_up.squares", "made_up.failing", "second.a"];
    const { lines } = await run(cache, ids, 2);
    const began = lines.flatMap((line) =>
      /\] (\S+) begins$/.exec(line)?.[1] ?? []
    );
    deepEqual(began, ["made_up.squares", "second.a", "made_up.failing"]);
    const reversed = await run(cache, ["second.a", "second.b", ids[0]], 1);
    match(reversed.lines[0], /second\.a begins$/);
  } finally {
    rmSync(cache, { recursive: true });
  }
});
