/** Tokens that `gpt` draws, of scores that requests change: by the rules, and the same in every batch. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { gpt, type GptInput, type GptOptions } from "../../src/models/gpt.ts";
import { DRAW_FIELDS, PENALTY_FIELDS } from "../../src/models/draw_input.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { seededWeights, type WeightSource } from "../../src/tensor/weights.ts";
import { anyPenalties } from "../any_penalties.ts";
import { ask } from "../engine/ask.ts";
import { naiveScores, naiveToken, naiveUniforms } from "../naive_draws.ts";
import { BATCHING } from "../onnx/batching.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";

const VOCABULARY = 13;
const POSITIONS = 24;

const SMALL = {
  ...{ layers: 2, hidden: 8, heads: 2, vocabulary: VOCABULARY },
  ...{ positionsMax: POSITIONS, eos: null },
};

/** What ends answers, if anything does. */
const ENDS = [2, 11];

/** Scores of every step. */
const SCORES = Float32Array.from(
  { length: VOCABULARY },
  (_, id) => 1.5 * Math.sin(5 * id),
);

/** Weights by which scores are what the classifier adds, whatever the tokens. */
const known: WeightSource = (name, ...wanted) => {
  const { shape, data } = seededWeights(1)(name, ...wanted);
  if (name === "classifier.b") return tensor(shape, SCORES);
  return name === "classifier.W"
    ? tensor(shape, data.map(() => 0))
    : { shape, data };
};

const drawing = (more: GptOptions = {}) =>
  gpt({ ...SMALL, sample: true, penalties: true, ...more });

const anyRequest: fc.Arbitrary<GptInput & { tokens: number[] }> = fc.record({
  tokens: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 6 }),
  temperature: fc.constantFrom(0, 0.5, 1, 3),
  topK: fc.constantFrom(0, 1, 3, 8),
  topP: fc.constantFrom(1, 0.9, 0.4),
  minP: fc.constantFrom(0, 0.1, 0.5),
  seed: fc.nat(1000),
  ...anyPenalties(VOCABULARY),
});

const REQUESTS = Array.from({ length: 14 }, (_, i): GptInput => ({
  tokens: [1 + i % 5, 2, i % 3].slice(0, 1 + i % 3),
  maxSteps: 5 + i,
  // Some are greedy, and some change nothing.
  ...(i % 3 > 0 && { temperature: i / 4, seed: i % 4, topP: 0.8 + i / 100 }),
  ...(i % 4 > 1 && { repetitionPenalty: 1 + i / 8, presencePenalty: 0.2 }),
  ...(i % 5 === 1 && { noRepeatNgramSize: 2, topK: 5, minP: 0.01 }),
  ...(i % 5 > 2 && { frequencyPenalty: 0.5, logitBias: { [i % 13]: 2 } }),
  ...(i % 6 === 2 && { minTokens: 7 }),
}));

Deno.test("gpt() takes the tokens that a naive reading of the rules takes of the same scores, to the last position, and tells these scores", () => {
  const banned = [4, SCORES.indexOf(Math.max(...SCORES))];
  const [model, plain, open] = [
    { banned, eos: ENDS },
    { banned, sample: false, penalties: false },
    { sample: false, penalties: false },
  ].map((more) =>
    drawing({
      ...{ classifier: "separate", weights: known, scores: true, ...more },
    })
  );
  const told = (steps: number) =>
    tensor(
      [steps, VOCABULARY],
      Float32Array.from(
        { length: steps * VOCABULARY },
        (_, i) => SCORES[i % VOCABULARY],
      ),
    );
  for (const [each, never] of [[plain, banned], [open, []]] as const) {
    const [{ tokens, scores }] = runRequests(each, [{ tokens: [1] }]);
    const left = SCORES.map((score, id) =>
      never.includes(id as never) ? -Infinity : score
    );
    const best = left.indexOf(Math.max(...left));
    assert(tokens.data.every((id) => id === best));
    assert.deepEqual(scores, told(POSITIONS));
  }
  const scores = SCORES.map((score, id) =>
    banned.includes(id) ? -Infinity : score
  );
  const answers = new Set<string>();
  fc.assert(
    fc.property(anyRequest, (request) => {
      const { tokens: prompt } = request;
      const steps = POSITIONS - prompt.length + 1;
      const uniforms = naiveUniforms(request.seed ?? 0, steps);
      const answer: number[] = [];
      for (const uniform of uniforms) {
        const before = { prompt, answer };
        const changed = naiveScores(request, scores, before, ENDS);
        answer.push(naiveToken(request, changed, uniform, banned));
        if (ENDS.includes(answer.at(-1)!)) break;
      }
      const [{ tokens, scores: own }] = runRequests(model, [{
        ...request,
        maxSteps: steps,
      }]);
      assert.deepEqual([...tokens.data], answer);
      assert.deepEqual(own, told(answer.length));
      answers.add(String(answer));
    }),
    { numRuns: propertyRuns(150) },
  );
  assert(answers.size > 60, `${answers.size} answers`);
});

Deno.test("gpt() draws the same tokens of the same scores in every batch, beside requests that draw none, under every policy and in threads", async () => {
  const model = drawing({ eos: 3, scores: true });
  const alone = REQUESTS.map((request) => runRequests(model, [request])[0]);
  const plain = gpt({ ...SMALL, eos: 3, scores: true });
  const greedy = REQUESTS.map(({ tokens, maxSteps = 1 }) =>
    runRequests(plain, [{ tokens, maxSteps }])[0]
  );
  const others = alone.filter((result, i) => {
    const { tokens: _, maxSteps: __, ...says } = REQUESTS[i];
    if (Object.keys(says).length > 0) {
      return String(result["tokens"].data) !== String(greedy[i]["tokens"].data);
    }
    assert.deepEqual(result, greedy[i]);
    return false;
  });
  assert(others.length >= 6, `${others.length} are other answers`);
  for (const [policy, { build }] of Object.entries(POLICIES)) {
    const mixed = runRequests(model, REQUESTS, {
      ...{ policy: build(BATCHING[policy] ?? {}), workers: 2, gapNs: 700 },
    });
    assert.deepStrictEqual(mixed, alone, policy);
  }
  await using engine = await ServingEngine.create({
    ...{ models: [model], policy: POLICIES["cellular"].build({}), workers: 2 },
  });
  const threads = await Promise.all(
    REQUESTS.map((request) => ask(engine, model, request)),
  );
  assert.deepStrictEqual(threads, alone);
});

Deno.test("gpt() has inputs and fields of draws where its options say so alone", () => {
  const takes = (options: GptOptions) => {
    const model = gpt({ ...SMALL, ...options });
    const { inputs, operators } = model.cells.at(-1)!;
    return {
      inputs: inputs.map(({ name }) => name),
      draws: operators.some(({ op }) => op === "Plain"),
      says: [model.isSampled, model.isPenalised],
    };
  };
  const cases = [
    [{}, [], []],
    [{ banned: [3] }, [], []],
    [{ sample: true }, ["settings", "draw"], DRAW_FIELDS],
    [
      { penalties: true },
      ["settings", "draw", "history", "penalties"],
      PENALTY_FIELDS,
    ],
  ] as const;
  const values: Record<string, unknown> = {
    ...{ temperature: 1, topK: 1, topP: 1, minP: 1, seed: 1 },
    ...{ repetitionPenalty: 2, presencePenalty: 1, frequencyPenalty: 1 },
    ...{ noRepeatNgramSize: 2, minTokens: 1, logitBias: { 1: 1 } },
  };
  for (const [options, inputs, fields] of cases) {
    const { sample = false, penalties = false }: GptOptions = options;
    assert.deepEqual(takes(options), {
      inputs: ["x", ...inputs],
      draws: sample || penalties,
      says: [sample, penalties],
    });
    const model = gpt({ ...SMALL, ...options });
    for (const [field, value] of Object.entries(values)) {
      const request = () => model.check({ tokens: [1], [field]: value });
      if ((fields as readonly string[]).includes(field)) request();
      else assert.throws(request, RegExp(`has no field "${field}"; it takes`));
    }
  }
});

Deno.test("gpt() refuses what cannot be drawn by name", () => {
  const model = drawing();
  const refused = (request: object, message: RegExp) =>
    assert.throws(() => model.check({ tokens: [1], ...request }), message);
  refused(
    { temperature: -1 },
    /"temperature" of a request to "gpt" is at least 0, got -1/,
  );
  refused(
    { topP: 0 },
    /"topP" of a request to "gpt" is above 0 and up to 1, got 0/,
  );
  refused({ seed: 0.5 }, /"seed" .* integer of less than 2\^53, got 0.5/);
  refused({ repetitionPenalty: 0 }, /"repetitionPenalty" .* above 0 in f32/);
  refused({ minTokens: -1 }, /"minTokens" .* is a whole number, got -1/);
  for (const eos of [13, [2, 13], "2"]) {
    assert.throws(
      () => gpt({ ...SMALL, eos: eos as number }),
      /"eos" of model "gpt" is an id below 13, a list of them, or null, got /,
    );
  }
  refused({ logitBias: { 13: 1 } }, /by ids of tokens below 13, got "13"/);
  for (const option of ["sample", "penalties", "scores"]) {
    assert.throws(() => gpt({ ...SMALL, [option]: "yes" }), {
      name: "TypeError",
      message: `"${option}" of model "gpt" is a boolean, got "yes"`,
    });
  }
  const all = Array.from({ length: VOCABULARY }, (_, id) => id);
  for (const sample of [false, true]) {
    assert.throws(
      () => gpt({ ...SMALL, sample, banned: all }),
      /All 13 tokens of "gpt" are banned/,
    );
  }
});
