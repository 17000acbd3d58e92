/** Our own policy's sizes of batches: what many workers, other models and the two parts of a decoder make of them. */
import assert from "node:assert/strict";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import type { Model } from "../../src/graph/model.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { staticChain } from "./static_chain.ts";
import { told, type ToldRequest } from "./told.ts";

const A = staticChain({ cells: ["A"] }) as Model;
const B = staticChain({ cells: ["B"] }) as Model;
const STEPS = staticChain({ cells: ["S*"] });
/** Two passes. */
const TWICE = { model: STEPS as Model, input: { steps: 2 } };
const DECODER = seq2seq({ hidden: 1, sourceVocabulary: 3 }) as Model;
/** Workers have been seen side by side by then, and are idle. */
const LATER_NS = 1e6;

const times = (count: number, request: Omit<ToldRequest, "arrivalNs">) =>
  Array.from({ length: count }, () => ({ arrivalNs: LATER_NS, ...request }));

/** As many steps of a decoder as tokens. */
const DECODED = {
  model: DECODER,
  input: { tokens: new Array<number>(32).fill(0), maxSteps: 64 },
  stepsFixed: 32,
};

/** Rows of the batches of those that come at once, by start and worker; a batch takes 10 ns, and 10 for each row. */
function sizes(
  requests: readonly ToldRequest[],
  {
    workers = 1,
    share = 0,
    rowShare = 0,
    isSeen = true,
    seen = { model: A } as Omit<ToldRequest, "arrivalNs">,
    gapNs = 12,
    burst = 1,
    slaNs = Infinity,
  } = {},
): number[] {
  const latencyNs = (_cell: unknown, rows: number) => 10 + 10 * rows;
  const cost: SharedCost = {
    latencyNs,
    demand: (_cell, rows) => Math.min(1, share + rowShare * rows),
  };
  const before = Array.from(
    { length: isSeen ? 400 : 0 },
    (_, i) => {
      const first = i < 208 ? i : i - i % burst;
      return { ...seen, arrivalNs: gapNs * first / workers };
    },
  );
  const tasks = told({
    policy: auto({ profile: latencyNs, slaNs }),
    models: [A, B, STEPS as Model, DECODER],
    requests: [...before, ...requests],
    cost,
    workers,
  });
  return tasks.filter((task) => Number.parseInt(task) >= LATER_NS)
    .map((task) => task.split(",").length);
}

Deno.test("those behind a batch have all workers that their model has", () => {
  const requests = times(16, { model: A });
  // The root of 16, over as many as there are workers.
  assert.equal(sizes(requests)[0], 4);
  assert.equal(sizes(requests, { workers: 2 })[0], 3);
  assert.equal(sizes(requests, { workers: 4 })[0], 2);
  const both = [...requests, ...times(16, { model: B })];
  assert.deepEqual(sizes(both, { workers: 2 }).slice(0, 2), [4, 4]);
});

Deno.test("small batches go side by side as far as they have room on the device", () => {
  const requests = times(16, { model: A });
  // Four of one row each have; where a row fills the device all sizes take four times as long, and the root of 4 is best.
  assert.equal(
    sizes(requests, { workers: 4, rowShare: 0.25, gapNs: 24, burst: 16 })[0],
    1,
  );
  assert.equal(sizes(requests, { workers: 4, share: 1 })[0], 2);
  // What nobody has seen is hoped for.
  assert.equal(sizes(requests, { workers: 4, isSeen: false })[0], 2);
});

Deno.test("workers that slow passes of several down, or were not seen side by side, are as good as one for those behind", () => {
  const requests = times(16, TWICE);
  const seen = TWICE;
  assert.equal(sizes(requests, { workers: 2, seen })[0], 3);
  assert.equal(
    sizes(requests, { workers: 2, seen, share: 1, gapNs: 100 })[0],
    4,
  );
  assert.equal(sizes(requests, { workers: 4, isSeen: false })[0], 4);
});

Deno.test("a decoder's batch counts as if all were in the same part of their way", () => {
  assert.equal(sizes(times(64, DECODED))[0], 8);
  const beside = [...times(1, { model: A }), ...times(64, DECODED)];
  assert.deepEqual(sizes(beside, { workers: 2 }).slice(0, 2), [1, 8]);
  // Of 64 steps alone, 1280 ns, 8 together take 4.5 times as long, 5760 ns, and 9 take 6400.
  assert.equal(sizes(times(64, DECODED), { slaNs: 6000 })[0], 8);
});

Deno.test("a request of which a pass takes many rows of a cell counts as so many", () => {
  const profile = (_cell: unknown, rows: number) => 10 + 10 * rows;
  const model = treeLstm({ hidden: 1, vocabulary: 1 });
  const pairs = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]];
  const trees = (count: number, arrivalNs: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => ({
      ...{ arrivalNs: arrivalNs(i), input: { tree: pairs } },
    }));
  const tasks = told({
    policy: auto({ profile }),
    models: [model],
    requests: [
      ...trees(100, (i) => 5000 * i),
      ...trees(16, () => LATER_NS),
    ],
    cost: { latencyNs: profile },
  });
  const first = tasks.find((task) => Number.parseInt(task) >= LATER_NS)!;
  // Eight leaves at once, then four, two and one node. By rows, one at a time, it would be the root of 16.
  assert.equal(first.split(" ").at(-1), "tree_leaf:101x8,102x8");
});
