/** What batches take, as far as it was seen. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { NODE } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Profile } from "../../src/policy/profile.ts";
import { CostTable } from "../../src/policy/common/cost_table.ts";
import { staticChain } from "./static_chain.ts";

const MODEL = staticChain({ cells: ["A"] }) as Model;
const [CELL] = MODEL.cells;
const RAGGED = defineCell({
  name: "R",
  tokensMax: 1000,
  inputs: { x: f32(1) },
  body: (op, { x }) => ({ y: op.Tanh(x) }),
});
const tokens = (length: number) => ({ length, caches: [] });

/** What a table is told of a task with a row for each length. */
function task(lengths: readonly number[], cell = CELL, padded = {}) {
  const nodes = lengths.map(tokens);
  return { cell, nodes, padding: 0, paddedLength: 0, ...padded };
}
const rows = (count: number) => task(new Array<number>(count).fill(1));

/** A table that saw the same thing so often. */
function after(
  times: number,
  seen: readonly (readonly [ReturnType<typeof task>, number, number?])[],
  profile?: Profile,
): CostTable {
  const costs = new CostTable(profile);
  for (let i = 0; i < times; i++) for (const one of seen) costs.saw(...one);
  return costs;
}

Deno.test("without a profile costs are found out, the best being hoped for of what was not seen", () => {
  assert.equal(new CostTable(undefined).ns(CELL, 4), 0);
  const found = after(50, [[rows(1), 20], [rows(4), 80]]);
  assert.equal(found.ns(CELL, 1), 20);
  assert.equal(found.ns(CELL, 4), 80);
  assert.equal(found.ns(CELL, 2), 40);
  assert.equal(found.ns(CELL, 8), 80);
  assert.equal(after(1, [[rows(4), 80]]).ns(CELL, 1), 20);
});

Deno.test("rows that workers left out count as nothing, and a task of nothing else does not", () => {
  const costs = after(50, [[rows(1), 20], [rows(4), 80]]);
  const some = (voids: number, padsDone = false) => {
    const { nodes, ...others } = rows(4);
    const states = nodes.map((node, i) => ({
      ...node,
      state: i < voids ? NODE.void : NODE.done,
    }));
    return { ...others, nodes: states, padsDone };
  };
  // Two of four were computed, in as long as two take; then none, in no time; then four, two of them as padding.
  costs.saw(some(2), 40);
  assert.equal(costs.ns(CELL, 4), 80);
  assert(Number.isNaN(costs.saw(some(4), 0)));
  assert(Number.isNaN(costs.saw(some(4, true), 0)));
  assert.equal(costs.saw(some(2, true), 80), 80);
  assert.equal(costs.ns(CELL, 4), 80);
});

Deno.test("a wrong profile is corrected, also beyond what was seen", () => {
  const costs = after(100, [[rows(2), 60]], (_cell, rows) => 10 * rows);
  for (const rows of [1, 2, 8]) {
    assert(Math.abs(costs.ns(CELL, rows) - 30 * rows) < 0.01, `${rows}`);
  }
});

Deno.test("what changes is followed: the newest counts a tenth at least", () => {
  const costs = after(100, [[rows(1), 10]]);
  costs.saw(rows(1), 110);
  assert(Math.abs(costs.ns(CELL, 1) - 20) < 1e-9);
});

Deno.test("workers slow each other down as was seen of sizes that are known alone", () => {
  const costs = after(1, [[rows(1), 1000]]);
  for (let i = 0; i < 20; i++) costs.saw(rows(1), 1500, 2);
  assert.equal(costs.slowdown(2), 1.5);
  assert.equal(costs.ns(CELL, 1), 1000);
});

Deno.test("what was never seen alone says nothing of how much workers slow each other down", () => {
  const costs = after(1, [[rows(1), 1000]]);
  // As many at once take as much longer, on two workers beside each other.
  for (let i = 0; i < 20; i++) costs.saw(rows(32), 32_000, 2);
  assert.equal(costs.slowdown(2), 1);
  assert.equal(costs.ns(CELL, 32), 32_000);
});

Deno.test("no batch takes more than twice its time beside one other", () => {
  const costs = after(1, [[rows(1), 1000]]);
  for (let i = 0; i < 20; i++) costs.saw(rows(1), 1e9, 2);
  assert.equal(costs.slowdown(2), 2);
});

Deno.test("rows of other lengths are told by their lengths", () => {
  const costs = after(1, [[task([10], RAGGED), 1000]]);
  assert.equal(costs.ns(RAGGED, 1, tokens(500)), 50_000);
  for (let i = 0; i < 20; i++) costs.saw(task([400], RAGGED), 40_000, 2);
  assert(Math.abs(costs.slowdown(2) - 1) < 1e-9);
});

Deno.test("a batch's rows count by their mean length", () => {
  // 1 + 2 + 9 tokens in three rows: four in each.
  const costs = after(1, [[task([1, 2, 9], RAGGED), 1200]]);
  assert.equal(costs.ns(RAGGED, 3, tokens(4)), 1200);
  assert.equal(costs.ns(RAGGED, 3, tokens(40)), 12_000);
});

Deno.test("padding counts as what it stands for", () => {
  const padded = after(1, [[
    task([3], RAGGED, { padding: 3, paddedLength: 8 }),
    3200,
  ]]);
  assert.equal(padded.ns(RAGGED, 4, tokens(8)), 3200);
  assert.equal(padded.ns(RAGGED, 1, tokens(8)), 800);
});

Deno.test("a batch that took no time by the clock says nothing of what workers cost each other", () => {
  const costs = after(1, [[rows(1), 0], [rows(1), 20, 2]]);
  assert.equal(costs.slowdown(2), 1);
  assert.equal(costs.ns(CELL, 1), 10);
});

/** A pass of so many requests that took so many times as long as alone, beside others that take such a share. */
function pass(rows: number, times: number, beside: number) {
  const all = 4;
  return { model: MODEL, rows, all, beside, ranNs: 10 * times, expectedNs: 10 };
}
const share = (costs: CostTable, rows: number) => costs.share(pass(rows, 1, 0));

Deno.test("what a pass takes of the device is found out from how much longer it takes beside others", () => {
  const costs = new CostTable(undefined);
  assert.equal(share(costs, 1), 0.25);
  // Eight rows take 0.9 of it, one row 0.3: together they take 1.2 times as long, two of the large ones 1.8.
  for (let i = 0; i < 2000; i++) {
    const [small, large] = [share(costs, 1), share(costs, 8)];
    costs.sawPass(pass(1, 1.2, large));
    costs.sawPass(pass(8, 1.2, small));
    costs.sawPass(pass(8, 1.8, large));
  }
  assert(Math.abs(share(costs, 1) - 0.3) < 0.01, `${share(costs, 1)}`);
  assert(Math.abs(share(costs, 8) - 0.9) < 0.01, `${share(costs, 8)}`);
  // What was not seen is as what is next to it.
  assert.equal(share(costs, 2), share(costs, 1));
  assert.equal(share(costs, 64), share(costs, 8));
  assert.equal(share(costs, 0), 0);
});

Deno.test("who is not slowed down takes no more than there was room for", () => {
  const costs = new CostTable(undefined);
  for (let i = 0; i < 2000; i++) costs.sawPass(pass(1, 1, 0.9));
  assert(Math.abs(share(costs, 1) - 0.1) < 0.01, `${share(costs, 1)}`);
  const before = share(costs, 1);
  costs.sawPass(pass(1, 1, 0.5));
  assert.equal(share(costs, 1), before);
});

Deno.test("who ran alone, and who had no time that was known, say nothing of shares", () => {
  const costs = new CostTable(undefined);
  costs.sawPass(pass(1, 3, 0));
  costs.sawPass({ ...pass(1, 3, 0.5), expectedNs: NaN });
  costs.sawPass({ ...pass(1, 3, 0.5), expectedNs: 0 });
  assert.equal(share(costs, 1), 0.25);
  assert(Number.isNaN(costs.saw(rows(1), 20)));
  assert.equal(costs.saw(rows(1), 30), 20);
});

Deno.test("what a number of rows between two takes lies between them", () => {
  const costs = new CostTable((_cell, rows) => rows * (rows > 8 ? 20 : 10));
  assert.equal(costs.meanNs(CELL, 8), 80);
  assert.equal(costs.meanNs(CELL, 8.5), 130);
});

Deno.test("what passes before a launch is the host's where any request was in the pass before", () => {
  const costs = new CostTable(undefined);
  const before = { ...pass(1, 1, 0), nowNs: 100, ranNs: 50 };
  const newcomer = { tag: {} };
  costs.sawGap(before, [newcomer], 500);
  costs.sawGap(undefined, [newcomer], 500);
  assert.equal(costs.hostNs.value, new CostTable(undefined).hostNs.value);
  costs.sawGap(before, [newcomer, { tag: { newest: before } }], 180);
  assert.equal(costs.hostNs.value, 30);
});
