/** Scores that requests change: the same tokens in every batch, and those that a naive reading of the rules takes. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { DecoderInput } from "../../src/onnx/decoder/decoder_model.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { anyPenalties } from "../any_penalties.ts";
import { ask } from "../engine/ask.ts";
import { naiveScores, naiveToken } from "../naive_draws.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import {
  crossDecoder,
  SEEN,
  VOCABULARY as CROSS_VOCABULARY,
  WIDTH,
} from "./cross_files.ts";
import { tinyDecoder } from "./decoder_files.ts";
import { recurrentDecoder } from "./recurrent_files.ts";

const VOCABULARY = 17;
const POSITIONS = 30;

const FILE = tinyDecoder({
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
  ...{ layers: 1, heads: 2, size: 4, vocabulary: VOCABULARY, seed: 11 },
});

const DECODER = { positionsMax: POSITIONS, sample: true, penalties: true };

/** No score is above 0. */
const lowered = Object.fromEntries(
  Array.from({ length: VOCABULARY }, (_, id) => [id, -1e6]),
);

const load = (more: object = {}) =>
  loadOnnx(FILE, { decoder: { ...DECODER, ...more } });

const anyRequest: fc.Arbitrary<DecoderInput> = fc.record({
  tokens: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 6 }),
  ...anyPenalties(VOCABULARY),
});

/** Tokens of the largest scores by a naive reading, from the model's own scores. */
function reference(
  { tokens, ...request }: DecoderInput,
  scores: Float32Array,
  vocabulary = VOCABULARY,
): number[] {
  const prompt = Array.from(tokens);
  const answer: number[] = [];
  for (let step = 0; step * vocabulary < scores.length; step++) {
    const own = scores.subarray(step * vocabulary, (step + 1) * vocabulary);
    const changed = naiveScores(request, own, { prompt, answer });
    answer.push(naiveToken({}, changed, 0));
  }
  return answer;
}

Deno.test("the token of the largest score that is left is taken, step by step to the last position", async () => {
  const model = await load({ scores: true, sample: false });
  assert(model.isPenalised && !model.isSampled);
  let [runs, others] = [0, 0];
  fc.assert(
    fc.property(anyRequest, (request) => {
      const [{ tokens, scores }] = runRequests(model, [request]);
      const expected = reference(request, scores!.data as Float32Array);
      assert.deepEqual([...tokens.data], expected);
      assert.equal(expected.length, POSITIONS - request.tokens.length + 1);
      const plain = { tokens: request.tokens };
      const [{ tokens: unchanged }] = runRequests(model, [plain]);
      if (String([...unchanged.data]) !== String(expected)) others++;
      runs++;
    }),
    { numRuns: propertyRuns(150) },
  );
  assert(4 * others > runs, `${others} of ${runs} are other answers`);
});

Deno.test("changed scores draw the same tokens in every batch, on virtual time and in threads", async () => {
  const model = await load({ stop: [3] });
  const requests = Array.from({ length: 12 }, (_, i) => ({
    ...{ tokens: [1 + i % 5, 2, i % 3], maxSteps: 20, seed: i % 4 },
    ...{ temperature: [0, 1, 1.5][i % 3], minP: [0, 0.3][i % 2] },
    // Some change nothing.
    ...(i % 4 > 0 && { repetitionPenalty: 1 + i / 8, presencePenalty: 0.2 }),
    ...(i % 3 === 1 && { noRepeatNgramSize: 2 }),
    ...(i % 5 > 2 && { frequencyPenalty: 0.5, logitBias: { [i]: 2, 3: -9 } }),
    // Token 3 comes with the next step.
    ...(i % 4 === 1 && { minTokens: 5, logitBias: { 3: 50 } }),
  }));
  const alone = requests.map((request) => runRequests(model, [request])[0]);
  alone.forEach(({ tokens }, i) => {
    if (i % 4 === 1) assert.equal(tokens.data.indexOf(3 as never), 5);
  });
  for (const [policy, options] of Object.entries(BATCHING)) {
    const { build } = POLICIES[policy];
    const mixed = runRequests(model, requests, {
      ...{ policy: build(options), workers: 2, gapNs: 700 },
    });
    assert.deepStrictEqual(mixed, alone, policy);
    await using engine = await ServingEngine.create({
      ...{ models: [model], policy: build(options), workers: 2 },
    });
    const threads = await Promise.all(
      requests.map((request) => ask(engine, model, request)),
    );
    assert.deepStrictEqual(threads, alone, policy);
  }
});

Deno.test("decoders with states, behind an encoder and merged of two have the same rules, in every batch", async () => {
  const recurrent = recurrentDecoder("LSTM", {
    ...{ hidden: 5, vocabulary: CROSS_VOCABULARY, seed: 3 },
  });
  const seen = (i: number) => {
    const length = WIDTH * (1 + i % 4);
    const states = Float32Array.from({ length }, (_, at) => Math.sin(at + i));
    return { inputs: { encoder_hidden_states: states } };
  };
  const kinds: [Uint8Array<ArrayBuffer>, object, object, typeof seen?][] = [
    [recurrent.file, { states: recurrent.states }, {}],
    ...(["states", "merged"] as const).map((brings) =>
      [
        ...[crossDecoder(brings, new Prng(5)), {}] as const,
        { sizesMax: { [SEEN]: 4 } },
        seen,
      ] as typeof kinds[number]
    ),
  ];
  for (const [file, more, sizes, brings] of kinds) {
    const model = await loadOnnx(file, {
      decoder: {
        ...{ positionsMax: 16, scores: true, penalties: true },
        ...more,
      },
      ...sizes,
    });
    const requests = Array.from({ length: 9 }, (_, i): DecoderInput => ({
      tokens: [i, 3, 2 * i % CROSS_VOCABULARY].slice(0, 1 + i % 3),
      ...brings?.(i),
      // Some change nothing.
      ...(i % 3 > 0 && { repetitionPenalty: 1 + i / 4, logitBias: { [i]: 1 } }),
      ...(i % 4 === 1 && { noRepeatNgramSize: 2, frequencyPenalty: 0.5 }),
    }));
    const alone = requests.map((request) => runRequests(model, [request])[0]);
    alone.forEach(({ tokens, scores }, i) => {
      const own = scores!.data as Float32Array;
      const expected = reference(requests[i], own, CROSS_VOCABULARY);
      assert.deepEqual([...tokens.data], expected);
    });
    for (const [policy, options] of Object.entries(BATCHING)) {
      const mixed = runRequests(model, requests, {
        ...{ policy: POLICIES[policy].build(options), workers: 2, gapNs: 700 },
      });
      assert.deepStrictEqual(mixed, alone, policy);
    }
  }
});

Deno.test("who changes nothing has the tokens of a decoder that cannot", async () => {
  const [plain, changing] = [
    await loadOnnx(FILE, {
      decoder: { positionsMax: POSITIONS, sample: true },
    }),
    await load(),
  ];
  assert.deepEqual([plain.isPenalised, changing.isPenalised], [false, true]);
  for (let seed = 0; seed < 6; seed++) {
    const request = { tokens: [4, 2], seed, temperature: seed / 2 };
    assert.deepEqual(
      runRequests(changing, [request]),
      runRequests(plain, [request]),
    );
  }
  const brought = (more: object): number => {
    const graph = new CellGraph(changing);
    changing.unfold({ tokens: [4, 2], ...more }, graph);
    return graph.inputs.reduce((sum, { data }) => sum + data.byteLength, 0);
  };
  // Tokens so far are a row of all positions, which would be copied for nothing.
  const saying = [
    ...[{ presencePenalty: 1 }, { logitBias: { 3: 1 } }],
    { noRepeatNgramSize: 1 },
  ];
  for (const more of saying) {
    assert.equal(brought(more) - brought({}), 4 * POSITIONS);
  }
  assert.equal(brought({ repetitionPenalty: 1, logitBias: {} }), brought({}));
});

Deno.test("what is least likely beside the likeliest token is not drawn", async () => {
  const model = await load();
  const of = (minP: number) =>
    Array.from({ length: 40 }, (_, seed) => {
      const request = { tokens: [4, 2], maxSteps: 1, temperature: 2, seed };
      return Number(
        runRequests(model, [{ ...request, minP }])[0].tokens.data[0],
      );
    });
  const [all, likely, best] = [0, 0.8, 1].map((minP) => new Set(of(minP)).size);
  assert(all > likely && likely >= best, `${all}, ${likely}, ${best}`);
  assert.equal(best, 1);
});

Deno.test("what is never chosen stays so, whatever a request says", async () => {
  const banned = [3, 5, 6];
  const model = await load({ banned });
  const sayings: readonly Partial<DecoderInput>[] = [
    { logitBias: { 3: 3e38 } },
    { temperature: 3e38 },
    // Scores below 0 of the prompt's tokens come close to it.
    { repetitionPenalty: 1e-37, logitBias: lowered },
    // No token is left in the end.
    { noRepeatNgramSize: 1, temperature: 1 },
  ];
  for (const saying of sayings) {
    for (let seed = 0; seed < 10; seed++) {
      const request = { tokens: [...banned, seed], seed, ...saying };
      const [{ tokens }] = runRequests(model, [request]);
      assert(
        tokens.data.every((id) => !banned.includes(Number(id))),
        `${JSON.stringify(request)}: ${tokens.data.join(" ")}`,
      );
    }
  }
});

Deno.test("what cannot be is refused by name", async () => {
  const model = await load();
  const refused = (request: object, message: RegExp) =>
    assert.throws(() => model.check({ tokens: [1], ...request }), message);
  refused({ minP: 1.5 }, /"minP" of .* is from 0 to 1, got 1.5/);
  refused({ repetitionPenalty: 0 }, /"repetitionPenalty" .* above 0 in f32/);
  refused({ repetitionPenalty: 1e-60 }, /above 0 in f32, got 1e-60/);
  refused({ noRepeatNgramSize: 1.5 }, /"noRepeatNgramSize" .* whole number/);
  refused({ presencePenalty: NaN }, /"presencePenalty" .* number of f32/);
  refused({ frequencyPenalty: 1e39 }, /"frequencyPenalty" .* got 1e\+39/);
  refused({ logitBias: [1] }, /"logitBias" .* is an object of numbers/);
  refused({ logitBias: { 17: 1 } }, /by ids of tokens below 17, got "17"/);
  refused({ logitBias: { "": 1 } }, /by ids of tokens below 17, got ""/);
  refused(
    { logitBias: { 1: "2" } },
    /adds a number of f32 to token 1, got "2"/,
  );
  refused({ logitBias: { 1: 1e39 } }, /number of f32 to token 1, got 1e\+39/);
  const many = Object.fromEntries(
    Array.from({ length: 301 }, (_, i) => [i, 1]),
  );
  refused({ logitBias: many }, /of 300 tokens at most, got 301/);
  const plain = await loadOnnx(FILE, { decoder: { sample: true } });
  assert.throws(
    () => plain.check({ tokens: [1], presencePenalty: 1 } as never),
    /"presencePenalty"/,
  );
  const wide = await loadOnnx(
    tinyDecoder({
      ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
      ...{ layers: 1, heads: 2, size: 4, vocabulary: 320, seed: 11 },
    }),
    { decoder: DECODER },
  );
  const most = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [i, -100]),
  );
  const asked = { tokens: [1], maxSteps: 10, logitBias: most };
  const [{ tokens }] = runRequests(wide, [asked]);
  assert([...tokens.data].every((id) => Number(id) >= 300));
});
