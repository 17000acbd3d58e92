import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Result } from "../../src/graph/result.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { runRequests } from "../run_requests.ts";
import { dataFolder } from "../workload/data_folder.ts";
import { readG2p } from "./g2p.ts";
import { ask } from "../engine/ask.ts";

const folder = dataFolder("the trained spelling-to-phoneme model");
const g2p = folder === undefined ? undefined : readG2p(folder);

/** Checks ids and number of steps of every word. */
function assertPhonemes(results: readonly Result[]): void {
  const { words } = g2p!;
  assert.equal(results.length, words.length);
  words.forEach(({ word, phonemes, steps, ended }, i) => {
    const ids = [...results[i]["tokens"].data];
    assert.equal(ids.length, steps, `decoder steps of ${word}`);
    if (ended) assert.equal(ids.pop(), 3, `${word} ends with </s>`);
    assert.deepEqual(ids, phonemes, `phonemes of ${word}`);
  });
}

for (const [name, { build }] of Object.entries(POLICIES)) {
  Deno.test(`${name}: the trained GRU Seq2Seq spells all 401 words as published`, () => {
    if (g2p === undefined) return;
    const { model, words } = g2p;
    assert.equal(words.length, 401);
    const inputs = words.map(({ input }) => input);
    assertPhonemes(
      runRequests(model, inputs, { policy: build(), gapNs: 3000 }),
    );
  });
}

Deno.test("the trained GRU Seq2Seq spells all 401 words in two worker threads", async () => {
  if (g2p === undefined) return;
  const { model, words } = g2p;
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
    workers: 2,
  });
  assertPhonemes(
    await Promise.all(words.map(({ input }) => ask(engine, model, input))),
  );
});

Deno.test("the trained GRU encoder ends in the published states", () => {
  if (g2p === undefined) return;
  const { encoder, words, states } = g2p;
  const [count, hidden] = states.shape as [number, number];
  const inputs = words.slice(0, count).map(({ input: { tokens } }) => ({
    tokens,
  }));
  words.forEach(({ word, input, encoderSteps }) =>
    assert.equal(input.tokens.length, encoderSteps, word)
  );
  runRequests(encoder, inputs, { policy: cellular() }).forEach(({ h }, i) => {
    const expected = states.data.subarray(i * hidden, (i + 1) * hidden);
    const worst = expected.reduce(
      (most, x, k) => Math.max(most, Math.abs(x - h.data[k])),
      0,
    );
    assert(worst < 2e-5, `state of "${words[i].word}" is off by ${worst}`);
  });
});
