import { deepEqual, equal } from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildModel } from "../../src/cli/bench_models.ts";
import { BenchRun, withExecutor } from "../../src/cli/bench_run.ts";
import { benchSettings } from "../../src/cli/bench_settings.ts";

Deno.test("policies are measured in turns, and of a point's rounds the middle one counts", async () => {
  const out = mkdtempSync(join(tmpdir(), "bench-run-"));
  const settings = benchSettings(
    ["--model", "lstm", "--requests", "10", "--rounds", "3", "--out", out],
  )!;
  const built = buildModel("lstm", "small", 1, {});
  try {
    await withExecutor(built, settings, async (executor) => {
      const run = new BenchRun(built, executor, settings);
      const policies = ["serial", "merged"];
      const peaks = await run.peaks(policies);
      deepEqual(Object.keys(peaks), policies);
      const points = await run.points(policies, "low", 500);
      for (
        const [i, { policy, metrics, p90OfRoundsNs = [] }] of points.entries()
      ) {
        equal(policy, policies[i]);
        equal(metrics.requests.done, 10);
        equal(p90OfRoundsNs.length, 3);
        equal(
          metrics.latency.p90Ns,
          p90OfRoundsNs.toSorted((a, b) => a - b)[1],
        );
      }
      deepEqual(readdirSync(out).sort(), [
        "lstm-merged-low.trace.json",
        "lstm-serial-low.trace.json",
      ]);
    });
  } finally {
    rmSync(out, { recursive: true });
  }
});
