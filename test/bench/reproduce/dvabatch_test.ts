/** DVABatch's experiments: every claim is answered, what is exact comes out to the digit, and what searches finds. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { verdictOf } from "../../../bench/reproduce/claim.ts";
import { bufferBytes } from "../../../bench/reproduce/dvabatch/buffers.ts";
import { CLAIMS } from "../../../bench/reproduce/dvabatch/claims.ts";
import { EXPERIMENTS } from "../../../bench/reproduce/dvabatch/experiments.ts";
import { STEPPING } from "../../../bench/reproduce/dvabatch/fig15.ts";
import { fewestBest } from "../../../bench/reproduce/dvabatch/fig19.ts";
import { closedLoopMs } from "../../../bench/reproduce/dvabatch/fig21.ts";
import {
  network,
  NETWORKS,
} from "../../../bench/reproduce/dvabatch/networks.ts";
import { splitAt } from "../../../bench/reproduce/dvabatch/policies.ts";
import {
  capacityPerS,
  dva,
  peakPerS,
  searchPeak,
  simulateAt,
} from "../../../bench/reproduce/dvabatch/serving.ts";
import type { Context } from "../../../bench/reproduce/experiment.ts";
import { outcomeProblems } from "../../../bench/reproduce/run/judge.ts";
import { timeEven } from "../../../src/policy/dvabatch/stages.ts";
import { propertyRuns } from "../../property_runs.ts";

Deno.test("DVABatch's 20 claims are there, by the numbers of the paper, each answered once", () => {
  const ids = Array.from(
    { length: 20 },
    (_, i) => `DV-${String(i + 1).padStart(2, "0")}`,
  );
  assert.deepEqual(CLAIMS.map(({ id }) => id), ids);
  assert.deepEqual(EXPERIMENTS.flatMap(({ claims }) => claims).sort(), ids);
});

/** Computes whatever it is asked for. */
const CONTEXT: Context = {
  seed: 1,
  runs: 1,
  quick: true,
  full: false,
  point: async (_key, compute) => await compute(),
};

/** Those that take next to no time. */
const WORKED = new Map<string, Readonly<Record<string, string>>>([
  ["dvabatch.fig3", {
    "DV-02": "to the digit",
    "DV-03": "to the digit",
    "DV-04": "to the digit",
  }],
  ["dvabatch.fig4", { "DV-05": "to the digit" }],
  ["dvabatch.fig5", { "DV-06": "same direction and size" }],
  ["dvabatch.fig6", { "DV-07": "not reproduced" }],
  ["dvabatch.policies", { "DV-09": "to the digit", "DV-10": "to the digit" }],
  ["dvabatch.setup", { "DV-08": "to the digit", "DV-11": "to the digit" }],
]);

for (const [id, verdicts] of WORKED) {
  Deno.test(`${id} answers its claims as docs/papers.md says`, async () => {
    const experiment = EXPERIMENTS.find((one) => one.id === id)!;
    const outcome = await experiment.run(CONTEXT);
    assert.deepEqual(outcomeProblems(experiment, outcome, CLAIMS), []);
    const found = outcome.findings.map((finding) => {
      const claim = CLAIMS.find(({ id }) => id === finding.claim)!;
      return [claim.id, verdictOf(claim, finding)];
    });
    assert.deepEqual(Object.fromEntries(found), verdicts);
  });
}

Deno.test("Policy II's threshold is where T_remain(64) is twice T_remain(32)", () => {
  assert.deepEqual(splitAt(1.999).sizes, [64]);
  assert.deepEqual(splitAt(2), {
    factor: 2,
    ratio: 2,
    sizes: [32, 32],
    inTurn: true,
  });
});

Deno.test("a peak is found from any guess, and 0 where there is none", () => {
  const rates = fc.double({ min: 0.1, max: 1e5, noNaN: true });
  fc.assert(
    fc.property(rates, rates, (guess, peak) => {
      const found = searchPeak(guess, 0.01, (rate) => rate <= peak);
      if (peak < guess / 1000) return assert(found <= peak);
      assert(found <= peak && found * 1.01 >= peak, `${found} for ${peak}`);
    }),
    { numRuns: propertyRuns(500) },
  );
  assert.equal(searchPeak(100, 0.01, () => false), 0);
});

Deno.test("peaks are carried for long, not worked off in time: none is above what the device can do", async () => {
  const system = { baseline: "DelayBatch", windowMs: 0 } as const;
  const peak = await peakPerS({ ...CONTEXT, quick: false }, system, "LinkNet");
  // With as many requests as come in four seconds, 20 targets, it was 1083.
  assert(peak < capacityPerS("LinkNet"), `${peak}`);
});

Deno.test("of equal choices the fewest is the best", () => {
  assert.equal(fewestBest([1, 2, 3], [10, 9, 8.97]), 2);
  assert.equal(fewestBest([1, 2, 3], [10, 9, 8]), 3);
});

Deno.test("a chain's buffers are what its stages hand on", () => {
  const { model, whole, stages, profile } = network("VGG-19");
  const cells = timeEven(model, stages, profile, 64);
  let index = 0;
  let words = 0;
  for (const stage of cells.slice(0, -1)) {
    index += stage.length;
    words += whole.cells[index - 1].outputs[0].width;
  }
  assert.equal(bufferBytes("VGG-19", 2), 2 * 64 * words * 4);
  assert.equal(bufferBytes("VGG-19", 1), 64 * words * 4);
});

Deno.test("a stage's overhead is charged once for every stage of a batch", () => {
  const plain = closedLoopMs(dva("U-Net"), "U-Net");
  const charged = closedLoopMs({ ...dva("U-Net"), stageUs: 250 }, "U-Net");
  assert.equal((charged - plain).toFixed(6), "1.000000");
});

Deno.test("runs are those of their seed, under every network", () => {
  for (const name of NETWORKS) {
    const run = (seed: number) =>
      simulateAt(dva(name), name, { ratePerS: 40, requests: 40, seed });
    assert.deepEqual(run(1), run(1), name);
    assert.notDeepEqual(run(1), run(2), name);
  }
});

Deno.test("the stepping load never steps down", () => {
  const rates = STEPPING.ratesPerS!;
  assert(rates.every((rate, i) => i === 0 || rate > rates[i - 1]));
});
