import assert from "node:assert/strict";
import { buildModel } from "../../src/cli/bench_models.ts";
import { withExecutor } from "../../src/cli/bench_run.ts";
import { measuredLoad } from "../../src/cli/planning/measured.ts";
import type { MeasuredLoad } from "../../src/cli/planning/measured.ts";
import type { RecordedPart } from "../../src/plan/recorded_part.ts";
import { Prng } from "../../src/base/prng.ts";

const REQUESTS = 200;

/** From a rate on, by steps; one request in a hundred may be late. */
async function measured(
  sloNs: number,
  fromPerS: number,
  step: number,
): Promise<MeasuredLoad> {
  const options = { hidden: 4, vocabulary: 10 };
  const built = buildModel("lstm", "small", 1, options);
  const prng = new Prng(1);
  const part: RecordedPart = {
    seconds: Array.from({ length: REQUESTS }, (_, i) => i),
    inputs: Array.from({ length: REQUESTS }, () => built.inputs.next(prng)),
    ...{ recordedPerS: 1, available: REQUESTS },
  };
  const sizes = { workers: 1, requests: REQUESTS };
  return await withExecutor(built, sizes, (executor) =>
    measuredLoad({
      ...{ executor, model: built.model, part, target: { sloNs, share: 0.99 } },
      choice: { policy: "cellular", options: {} },
    }, { fromPerS, precision: 0.04, step }));
}

Deno.test("a load that no rate keeps the target at is soon given up", async () => {
  const startMs = performance.now();
  // Nobody answers within a nanosecond. To its end each run takes 2 s and more, all of them two minutes.
  const { perS, obstacle, leastPerS, runs } = await measured(1, 100, 1.25);
  const tookMs = performance.now() - startMs;
  assert.equal(perS, undefined);
  assert.equal(obstacle, undefined);
  assert.equal(leastPerS, 25);
  assert(runs.every(({ perS, inTime }) => perS >= 25 && inTime === 0));
  assert(runs.length <= 2 * 8, `${runs.length} runs`);
  assert(tookMs < 30_000, `${tookMs} ms`);
});

Deno.test("requests that are over within a few targets say nothing of what a machine carries", async () => {
  const { perS, obstacle, runs } = await measured(1e12, 8000, 4);
  assert.equal(perS, undefined);
  assert.match(obstacle!, /200 requests are too few .*: take a longer one$/);
  assert(runs.every(({ inTime }) => inTime === 1));
});
