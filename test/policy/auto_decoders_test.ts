/** Our own policy on decoders: how many steps it expects of them, and who goes together although that is a guess. */
import assert from "node:assert/strict";
import type { CostModel } from "../../src/cost/cost_model.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { staticChain } from "./static_chain.ts";
import { told, type ToldRequest } from "./told.ts";

const DECODER = seq2seq({ hidden: 1, sourceVocabulary: 3 });
const STEPS = staticChain({ cells: ["S*"] });

const pair = (arrivalNs: number, tokens: number, steps: number) => ({
  arrivalNs,
  input: { tokens: new Array<number>(tokens).fill(0), maxSteps: 64 },
  stepsFixed: steps,
});
const profiled = (latencyNs: (cell: Cell, rows: number) => number) => {
  const cost: CostModel = { latencyNs };
  return { cost, profile: latencyNs };
};

Deno.test("a decoder is expected to take as many steps as those that brought as much", () => {
  const { cost, profile } = profiled(({ phase }, rows) =>
    rows * (phase === "decoder" ? 10 : 1)
  );
  const before: ToldRequest[] = [];
  for (let i = 0; i < 20; i++) {
    const tokens = i % 4 === 3 ? 40 : 2;
    before.push(pair(1000 * i, tokens, tokens));
  }
  const tasks = told({
    policy: auto({ profile, slaNs: 400 }),
    models: [DECODER],
    // The first is late even alone, 40 + 400, though by the mean of 11.5 steps both are in time; the second is not kept.
    requests: [...before, pair(20_000, 40, 40), pair(20_001, 2, 2)],
    cost,
  });
  const last = tasks.findLast((task) => task.endsWith(":22"))!;
  const [, endNs] = /\.\.(\d+)/.exec(last)!;
  assert(Number(endNs) <= 20_030, last);
});

Deno.test("who would be late by a little goes together with others if what is left of it is a guess", () => {
  // Two take 9 % more than one. Alone it takes 33 of 110, the first 32 steps being what is assumed; 3 % are left.
  const { cost, profile } = profiled((_cell, rows) => 100 + 10 * rows);
  const first = (requests: readonly ToldRequest[]) =>
    told({
      policy: auto({ profile, slaNs: 3750 }),
      models: [requests[0].model ?? DECODER, DECODER],
      requests,
      cost,
    })[0];
  assert.equal(
    first([pair(0, 1, 32), pair(0, 1, 32)]),
    "0..120 w0 encoder:1,2",
  );
  const known = { arrivalNs: 0, model: STEPS, input: { steps: 33 } };
  assert.equal(first([known, known]), "0..110 w0 S:1");
});
