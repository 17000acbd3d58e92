/** Tokens that are drawn: the same ones for the same seed in every batch, from the tokens that settings leave. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { runPlain } from "../../src/plain/registry.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { ask } from "../engine/ask.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import { tinyDecoder } from "./decoder_files.ts";

const FILE = tinyDecoder({
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
  ...{ layers: 1, heads: 2, size: 4, vocabulary: 17, seed: 11 },
});

const DECODER = { stop: [3], positionsMax: 30 };

const REQUESTS = Array.from({ length: 12 }, (_, i) => ({
  tokens: [1 + i % 5, 2, i % 3],
  maxSteps: 20,
  seed: i % 4,
  temperature: [0.7, 1, 1.5][i % 3],
  topK: [0, 5, 2][i % 3],
  topP: i % 2 === 0 ? 1 : 0.8,
}));

Deno.test("a seed draws the same tokens in every batch, on virtual time and in threads", async () => {
  const model = await loadOnnx(FILE, { decoder: { ...DECODER, sample: true } });
  const alone = REQUESTS.map((request) => runRequests(model, [request])[0]);
  for (const [policy, options] of Object.entries(BATCHING)) {
    const { build } = POLICIES[policy];
    const mixed = runRequests(model, REQUESTS, {
      ...{ policy: build(options), workers: 2, gapNs: 700 },
    });
    assert.deepStrictEqual(mixed, alone, policy);
    await using engine = await ServingEngine.create({
      ...{ models: [model], policy: build(options), workers: 2 },
    });
    const threads = await Promise.all(
      REQUESTS.map((request) => ask(engine, model, request)),
    );
    assert.deepStrictEqual(threads, alone, policy);
  }
});

Deno.test("another seed draws other tokens; without temperature the largest score is taken", async () => {
  const model = await loadOnnx(FILE, { decoder: { ...DECODER, sample: true } });
  const greedy = await loadOnnx(FILE, { decoder: DECODER });
  const of = (more: object) => {
    const request = { tokens: [4, 2], maxSteps: 20, ...more };
    return [...runRequests(model, [request])[0].tokens.data].join(" ");
  };
  const best = [
    ...runRequests(greedy, [{ tokens: [4, 2], maxSteps: 20 }])[0].tokens.data,
  ].join(" ");
  assert.equal(of({}), best);
  assert.equal(of({ temperature: 2, topK: 1 }), best);
  assert.equal(of({ temperature: 2, topP: 1e-6 }), best);
  const drawn = new Set(
    Array.from({ length: 8 }, (_, seed) => of({ temperature: 2, seed })),
  );
  assert(drawn.size >= 7, `${drawn.size} of 8 seeds differ`);
});

Deno.test("first tokens of seeds that are near each other are drawn apart", async () => {
  const model = await loadOnnx(FILE, { decoder: { ...DECODER, sample: true } });
  const requests = Array.from({ length: 200 }, (_, seed) => ({
    ...{ tokens: [4, 2], maxSteps: 1, seed, temperature: 100 },
  }));
  const counts = new Map<number, number>();
  for (const { tokens: { data } } of runRequests(model, requests)) {
    const token = Number(data[0]);
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  // As good as even among 17: 12 each.
  assert.equal(counts.size, 17);
  assert(Math.max(...counts.values()) < 30, [...counts].join(" "));
});

Deno.test("a draw that is 1 when it is rounded takes no token that is hardly ever drawn", async () => {
  const model = await loadOnnx(FILE, {
    decoder: { sample: true, scores: true },
  });
  const [seed, step] = [568496, 5];
  const draws = new Prng(seed).fork("draws");
  const drawn = Array.from({ length: step + 1 }, () => draws.float());
  assert.equal(Math.fround(drawn[step]), 1);
  const temperature = 0.1;
  const request = { tokens: [4, 2], maxSteps: step + 1, seed, temperature };
  const [{ tokens, scores }] = runRequests(model, [request]);
  const last = (scores!.data as Float32Array).slice(-17);
  const weights = last.map((score) => Math.exp(score / temperature));
  const whole = weights.reduce((sum, weight) => sum + weight);
  const share = weights[Number(tokens.data[step])] / whole;
  assert(share > 2 ** -24 / 17, `a share of ${share}`);
});

Deno.test("banned tokens are never chosen", async () => {
  const banned = [5, 7, 9];
  const model = await loadOnnx(FILE, {
    decoder: { ...DECODER, sample: true, banned },
  });
  const requests = Array.from({ length: 30 }, (_, seed) => ({
    ...{ tokens: [seed % 17], maxSteps: 20, seed, temperature: 3 },
  }));
  const ids = runRequests(model, requests).flatMap(({ tokens }) => [
    ...tokens.data,
  ]);
  assert(ids.length > 100 && banned.every((id) => !ids.includes(id)));
});

/** Share of each id among draws. */
function shares(
  scores: readonly number[],
  settings: readonly [temperature: number, topK: number, topP: number],
): number[] {
  const draws = 4000;
  const prng = new Prng(7);
  const counts = scores.map(() => 0);
  for (let i = 0; i < draws; i++) {
    const [id] = runPlain(
      "SampleToken",
      [
        plainOf("float32", [scores.length], scores),
        plainOf("float32", [4], [...settings, 0]),
        plainOf("float32", [1], [prng.float()]),
      ],
      new Map(),
      { opset: 1, outputs: 1 },
    );
    counts[Number(id.data[0])]++;
  }
  return counts.map((count) => count / draws);
}

Deno.test("draws have the shares of softmax, of the tokens that are left", () => {
  const scores = [0, Math.log(2), Math.log(5), Math.log(2)];
  const cases: [readonly [number, number, number], readonly number[]][] = [
    [[1, 0, 1], [0.1, 0.2, 0.5, 0.2]],
    // Of equal ones the lower id.
    [[1, 2, 1], [0, 2 / 7, 5 / 7, 0]],
    [[1, 0, 0.5], [0, 0, 1, 0]],
    [[1, 0, 0.51], [0, 2 / 7, 5 / 7, 0]],
    [[0.5, 0, 1], [1 / 34, 4 / 34, 25 / 34, 4 / 34]],
    [[0, 0, 1], [0, 0, 1, 0]],
  ];
  for (const [settings, expected] of cases) {
    shares(scores, settings).forEach((share, id) => {
      const wanted = expected[id];
      // Four standard deviations of 4000 draws.
      const most = 4 * Math.sqrt(wanted * (1 - wanted) / 4000);
      assert(
        Math.abs(share - wanted) <= most,
        `${settings}: ${share} of ${id}, expected ${wanted}`,
      );
    });
  }
  assert.deepEqual(shares([NaN, 1, -Infinity], [1, 0, 1]), [0, 1, 0]);
});
