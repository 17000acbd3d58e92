/** What the experiments of Cellular Batching and Late Batching are made of. */
import assert from "node:assert/strict";
import { CLAIMS } from "../../../bench/reproduce/cellular_batching/claims.ts";
import {
  LENGTHS,
  MODELS,
  requestsOf,
} from "../../../bench/reproduce/cellular_batching/datasets.ts";
import {
  DECODE_SHARE,
  OVERHEAD_US,
  v100,
} from "../../../bench/reproduce/cellular_batching/device.ts";
import { FIG_3 } from "../../../bench/reproduce/cellular_batching/fig3.ts";
import { FIG_5 } from "../../../bench/reproduce/cellular_batching/fig5.ts";
import { SETUP } from "../../../bench/reproduce/cellular_batching/setup.ts";
import {
  loadPoint,
  type System,
} from "../../../bench/reproduce/cellular_batching/load.ts";
import { verdictOf } from "../../../bench/reproduce/claim.ts";
import type {
  Context,
  Experiment,
} from "../../../bench/reproduce/experiment.ts";
import { CLAIMS as LATE_CLAIMS } from "../../../bench/reproduce/late_batching/claims.ts";
import { FIG_1 } from "../../../bench/reproduce/late_batching/fig1.ts";
import { Prng } from "../../../src/base/prng.ts";

/** Worked examples measure no points. */
const CONTEXT: Context = {
  seed: 1,
  runs: 1,
  quick: true,
  full: false,
  point: () => Promise.reject(new Error("No points")),
};

async function verdicts(
  experiment: Experiment,
): Promise<Record<string, string>> {
  const { findings } = await experiment.run(CONTEXT);
  return Object.fromEntries(
    findings.map((finding) => {
      const claim = [...CLAIMS, ...LATE_CLAIMS].find(({ id }) =>
        id === finding.claim
      )!;
      return [claim.id, verdictOf(claim, finding)];
    }),
  );
}

Deno.test("worked examples come out to the digit, and what data lacks is said", async () => {
  assert.deepEqual(await verdicts(FIG_5), { "CB-05": "to the digit" });
  assert.deepEqual(await verdicts(FIG_1), { "LT-01": "to the digit" });
  assert.deepEqual(await verdicts(SETUP), {
    "CB-06": "to the digit",
    "CB-07": "to the digit",
    "CB-08": "not reproduced",
    "CB-09": "to the digit",
    "CB-15": "to the digit",
    "CB-16": "not reproduced",
    "CB-19": "same direction and size",
  });
  assert.deepEqual(await verdicts(FIG_3), {
    "CB-03": "same direction",
    "CB-04": "same direction and size",
  });
});

Deno.test("the modelled V100 has the paper's times, BatchMaker's overhead, and decoding's share", () => {
  const [step] = MODELS.lstm.cells;
  const [encoder, decoder] = MODELS.seq2seq.cells;
  const plain = v100();
  assert.equal(plain.latencyNs(step, 1), 185_000);
  assert.equal(plain.latencyNs(step, 512), 784_000);
  assert.equal(v100({ overheadUs: OVERHEAD_US }).latencyNs(step, 64), 250_000);
  assert.equal(v100({ slower: 2 }).latencyNs(step, 1024), 4 * 784_000);
  const both = [encoder, decoder].map((cell) => plain.latencyNs(cell, 100));
  assert(Math.abs(both[1] / (both[0] + both[1]) - DECODE_SHARE) < 1e-5);
});

Deno.test("the assumed tail ends at 330, and about 99 % are shorter than 100", () => {
  const lengths = LENGTHS["europarl with a tail"]();
  const prng = new Prng(1);
  const drawn = Array.from(
    { length: 20_000 },
    () => lengths.sample(prng)[lengths.english],
  );
  const longest = Math.max(...drawn);
  assert(longest > 250 && longest <= 330, `${longest}`);
  const share = drawn.filter((tokens) => tokens < 100).length / drawn.length;
  assert(share > 0.99 && share < 0.996, `${share}`);
});

Deno.test("the same seed gives the same sentences at every rate", () => {
  const sizes = (ratePerS: number) =>
    requestsOf({
      model: "seq2seq",
      data: "europarl",
      ratePerS,
      requests: 50,
      seed: 3,
    }).map(({ input, stepsFixed }) => [input, stepsFixed]);
  assert.deepEqual(sizes(10), sizes(1000));
});

const TREES = {
  model: "tree",
  data: "complete 16",
  policy: "ideal",
  batchSizeMax: 64,
} as const satisfies System;

Deno.test("the ideal runs 31 cells one after the other, merging one batch per level", () => {
  // So seldom that every tree is alone.
  const alone = (system: System) => loadPoint(system, 1, 10, 1).p50Ms;
  const [leaf, node] = [185 * 3 / 8, 185 * 10 / 8];
  const close = (ours: number, us: number) =>
    assert(Math.abs(ours - us / 1000) < 1e-4, `${ours} ms, ${us} us`);
  close(alone(TREES), 16 * leaf + 15 * node);
  close(alone({ ...TREES, policy: "merged" }), leaf + 4 * node);
  close(
    alone({ ...TREES, policy: "merged", mergeNodeUs: 10 }),
    310 + leaf + 4 * node,
  );
  close(
    alone({ ...TREES, policy: "merged", mergeShare: 2 }),
    3 * (leaf + 4 * node),
  );
  close(
    alone({ ...TREES, policy: "cellular", overheadUs: 65 }),
    leaf + 4 * node + 5 * 65,
  );
});

Deno.test("a load beyond the capacity departs at the capacity", () => {
  // 64 trees in 16 leaf and 15 internal batches of 64.
  const batchUs = 185 * (16 * 3 / 8 + 15 * 10 / 8);
  const { perS } = loadPoint(TREES, 40_000, 3000, 1);
  const capacity = 64e6 / batchUs;
  assert(perS > 0.9 * capacity && perS < 1.05 * capacity, `${perS}`);
});
