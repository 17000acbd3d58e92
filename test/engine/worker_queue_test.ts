/** Tasks of unlike size in an arena that they fill: a small one may not go before a large one that waits. */
import assert from "node:assert/strict";
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { alone, assertEqualBits } from "./alone.ts";
import { runThreads } from "./harness.ts";
import { runStepped } from "./run_stepped.ts";

const model = lstm({ hidden: 16, vocabulary: 50 });

/** Lengths that leave a batch one by one: every task is a little smaller than the one before. */
const arrivals = Array.from({ length: 60 }, (_, i) => ({
  model,
  input: { tokens: Array.from({ length: 1 + i % 30 }, (_, t) => (i + t) % 50) },
  arrivalNs: 0,
}));

const policy = () => cellular({ batchSizeMax: 64, maxTasksToSubmit: 8 });

/** Room for three tasks of 60 rows and not for the fourth. */
const taskBytes = 4096;

Deno.test("a task does not overtake those that wait for room in their worker's arena", () => {
  const expected = alone([model], arrivals);
  for (let seed = 0; seed < 20; seed++) {
    const outcome = runStepped(
      { models: [model], arrivals, policy },
      { seed, speeds: [1], taskBytes, deaths: 0 },
    );
    assertEqualBits(arrivals, outcome, expected);
  }
});

Deno.test("nor in worker threads", async () => {
  const outcome = await runThreads({
    models: [model],
    arrivals,
    policy: policy(),
    taskBytes,
  });
  assert.equal(outcome.records.length, arrivals.length);
  assertEqualBits(arrivals, outcome, alone([model], arrivals));
});
