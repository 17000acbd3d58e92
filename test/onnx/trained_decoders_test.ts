/**
 * The trained decoders, from their safetensors and as ONNX files of a step: the published ids, the same ones alone and in mixed batches, on virtual
 * time and in worker threads; every request leaves at its own last step.
 */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { ask } from "../engine/ask.ts";
import { readG2p, type Word } from "../models/g2p.ts";
import { runRequests } from "../run_requests.ts";
import { dataFolder } from "../workload/data_folder.ts";
import { BATCHING } from "./batching.ts";
import { modelFolder } from "./reference_models.ts";
import {
  END,
  g2pDecoderFile,
  g2pEncoderFile,
  type Generation,
  generationsOf,
  languageModelFile,
  scoresOf,
  trainedGpt,
} from "./trained_decoders.ts";

const SLOT_BYTES = 2 ** 26;

/** Alone, and in mixed batches of every kind: the same bits. @returns what each request gives alone */
async function servedAlike<Input>(
  model: Model<Input>,
  inputs: readonly Input[],
): Promise<Result[]> {
  const alone = runRequests(model, inputs, { slotBytes: SLOT_BYTES });
  for (const [policy, options] of Object.entries(BATCHING)) {
    const { build } = POLICIES[policy];
    const mixed = runRequests(model, inputs, {
      policy: build(options),
      slotBytes: SLOT_BYTES,
      workers: 2,
      gapNs: 700,
    });
    assert.deepStrictEqual(mixed, alone, `${policy}, on virtual time`);
    await using engine = await ServingEngine.create({
      models: [model],
      policy: build(options),
      workers: 2,
      slotBytes: SLOT_BYTES,
    });
    const threads = await Promise.all(
      inputs.map((input) => ask(engine, model, input)),
    );
    assert.deepStrictEqual(threads, alone, `${policy}, in threads`);
  }
  return alone;
}

/** Ids, and where a request leaves. */
function assertSpelled(
  words: readonly Word[],
  results: readonly Result[],
): void {
  assert.equal(results.length, 401);
  words.forEach(({ word, phonemes, steps, ended }, i) => {
    const ids = [...results[i]["tokens"].data];
    assert.equal(ids.length, steps, `steps of ${word}`);
    assert.deepEqual(ids, [...phonemes, ...(ended ? [3] : [])], word);
  });
}

Deno.test("g2p: encoder and decoder step from ONNX files spell as published", async () => {
  const folder = modelFolder("the trained speller", "g2p-gru-seq2seq");
  if (folder === undefined) return;
  const { words } = readG2p(dataFolder("the trained speller")!);
  const encoder = g2pEncoderFile(folder);
  const spelled = await loadOnnx(encoder, { sizesMax: { letters: 32 } });
  assert.deepEqual(spelled.notes, []);
  const states = runRequests(
    spelled,
    words.map(({ input: { tokens } }) => ({
      letters: BigInt64Array.from(tokens, BigInt),
    })),
    {
      policy: POLICIES["cellular"].build({ batchSizeMax: 32 }),
      slotBytes: SLOT_BYTES,
    },
  );
  const model = await loadOnnx(g2pDecoderFile(folder), {
    name: "g2p",
    decoder: {
      states: { state: "next_state" },
      stop: [3],
      positionsMax: 20,
    },
  });
  assert.deepEqual(model.notes, []);
  const inputs = words.map((_, i) => ({
    tokens: [2],
    inputs: { state: states[i]["state"].data as Float32Array },
  }));
  const results = await servedAlike(model, inputs);
  assertSpelled(words, results);
});

/** Below, another order of additions may choose the other word (README of the data). */
const OPEN_GAP = 0.005;

/** Ids, and where a request leaves; the other word where the choice is open. */
function assertPublished(
  generations: readonly Generation[],
  results: readonly Result[],
): void {
  const others: string[] = [];
  generations.forEach(({ prompt, ids, steps, gap }, i) => {
    const made = [...results[i]["tokens"].data];
    const isSame = made.length === ids.length &&
      made.every((id, at) => id === ids[at]);
    if (!isSame && gap < OPEN_GAP) {
      others.push(prompt.join(" "));
      return;
    }
    assert.deepEqual(made, ids, `behind ${prompt.join(" ")}`);
    assert.equal(made.length, steps);
  });
  assert.deepEqual(others, [], "none of them was chosen otherwise so far");
}

const requestOf = ({ prompt }: Generation) => ({
  tokens: prompt,
  maxSteps: 60,
});

Deno.test("the language model from an ONNX file of a step continues as published", async () => {
  const folder = modelFolder("the language model", "tiny-transformer-lm");
  if (folder === undefined) return;
  const generations = generationsOf(folder);
  assert.equal(generations.length, 120);
  const model = await loadOnnx(languageModelFile(folder), {
    name: "language model",
    decoder: { stop: [END], banned: [0] },
  });
  assert.deepEqual(model.notes, ["its tables have 256 positions"]);
  const results = await servedAlike(model, generations.map(requestOf));
  assertPublished(generations, results);
});

Deno.test("the language model gives the published scores", async () => {
  const folder = modelFolder("the language model", "tiny-transformer-lm");
  if (folder === undefined) return;
  const model = await loadOnnx(languageModelFile(folder), {
    decoder: { scores: true },
  });
  const published = scoresOf(folder);
  assert.equal(published.length, 8);
  const results = runRequests(
    model,
    published.map(({ prompt }) => ({ tokens: prompt, maxSteps: 2 })),
    { slotBytes: SLOT_BYTES },
  );
  published.forEach(({ scores }, i) => {
    const { shape, data } = results[i].scores;
    assert.deepEqual(shape, [2, scores.length]);
    const most = Math.max(...scores.map(Math.abs));
    const worst = scores.reduce(
      (worst, score, id) => Math.max(worst, Math.abs(score - data[id])),
      0,
    );
    assert(worst <= 1e-5 * most, `off by ${worst}, the largest is ${most}`);
  });
});

Deno.test("the language model from its safetensors continues as published", async () => {
  const folder = modelFolder("the language model", "tiny-transformer-lm");
  if (folder === undefined) return;
  const generations = generationsOf(folder);
  const results = await servedAlike(
    trainedGpt(folder),
    generations.map(requestOf),
  );
  assertPublished(generations, results);
});

Deno.test("the language model from its safetensors draws what it does from its file", async () => {
  const folder = modelFolder("the language model", "tiny-transformer-lm");
  if (folder === undefined) return;
  const says = { sample: true, penalties: true };
  const file = await loadOnnx(languageModelFile(folder), {
    decoder: { stop: [END], banned: [0], ...says },
  });
  const requests = generationsOf(folder).slice(0, 12).map(({ prompt }, i) => ({
    tokens: prompt,
    maxSteps: 16,
    // Of few: sums in another order put those of nearly the same score in another order.
    ...{ temperature: i % 3, seed: i, topK: 6, topP: [1, 0.9][i % 2] },
    ...(i % 4 > 0 &&
      { repetitionPenalty: 1 + i / 8, noRepeatNgramSize: i % 4 }),
    ...(i % 4 > 1 && { presencePenalty: 0.5, logitBias: { [40 + i]: 3 } }),
  }));
  const run = (model: Model) =>
    runRequests(model, requests, { slotBytes: SLOT_BYTES })
      .map(({ tokens }) => [...tokens.data]);
  const drawn = run(trainedGpt(folder, says));
  assert.deepEqual(drawn, run(file));
  assert.notDeepEqual(
    drawn,
    generationsOf(folder).slice(0, 12).map(({ ids }) => ids.slice(0, 16)),
  );
});

Deno.test("g2p from its safetensors spells as published, in every batch", async () => {
  const folder = dataFolder("the trained speller");
  if (folder === undefined) return;
  const { words, model } = readG2p(folder);
  const results = await servedAlike(model, words.map(({ input }) => input));
  assertSpelled(words, results);
});
