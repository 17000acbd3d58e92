/**
 * Decoders from ONNX files of a step, in the ways that exporters write them: beside the file run as it stands, the same
 * bits alone and in mixed batches under every policy, on virtual time and in worker threads.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { anyOptions } from "../engine/arbitraries.ts";
import { ask } from "../engine/ask.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import {
  type Style,
  TABLE_ROWS,
  type TinyDecoder,
  TRIANGLE,
} from "./decoder_attention.ts";
import { tinyDecoder } from "./decoder_files.ts";
import { decodePlain } from "./plain_decoding.ts";

const POSITIONS = 24;
const VOCABULARY = 19;

const STYLES: readonly Style[] = [
  { shared: "no", mask: "input", scale: "scores", positions: "table" },
  { shared: "no", mask: "triangle", scale: "both", positions: "rotary" },
  { shared: "expanded", mask: "input", scale: "both", positions: "rotary" },
  { shared: "expanded", mask: "triangle", scale: "scores", positions: "table" },
  { shared: "broadcast", mask: "none", scale: "both", positions: "none" },
  { shared: "broadcast", mask: "operator", scale: "both", positions: "rotary" },
  { shared: "no", mask: "operator", scale: "both", positions: "none" },
  { shared: "broadcast", mask: "joined", scale: "both", positions: "rotary" },
  { shared: "broadcast", mask: "grouped", scale: "both", positions: "rotary" },
  { shared: "no", mask: "grouped", scale: "both", positions: "table" },
  { shared: "tiled", mask: "none", scale: "both", positions: "none" },
  { shared: "no", mask: "multi-head", scale: "both", positions: "rotary" },
];

/** With a bias by distance, or a cap. */
const BIASED: readonly Style[] = [
  { ...STYLES[0], positions: "none", bias: "linear" },
  { ...STYLES[1], bias: "window", cap: 2 },
  { ...STYLES[4], bias: "ranges" },
  { ...STYLES[4], bias: "window" },
  { ...STYLES[6], bias: "linear", cap: 3 },
  { ...STYLES[5], bias: "window" },
  { ...STYLES[7], bias: "ranges", cap: 2 },
  { ...STYLES[8], bias: "window", cap: 2 },
  { ...STYLES[8], bias: "linear" },
  { ...STYLES[11], bias: "ranges" },
  { ...STYLES[11], bias: "window" },
];

/** The same decoder in ONNX's own operators alone. */
function ownFile(options: TinyDecoder): Uint8Array<ArrayBuffer> {
  const { mask } = options;
  const isContrib = mask === "grouped" || mask === "multi-head";
  return tinyDecoder({ ...options, mask: isContrib ? "operator" : mask });
}

const tiny: fc.Arbitrary<TinyDecoder> = fc.record({
  style: fc.constantFrom(...STYLES, ...BIASED),
  layers: fc.integer({ min: 1, max: 2 }),
  heads: fc.constantFrom(2, 4),
  size: fc.constantFrom(2, 4, 6),
  seed: fc.nat(1000),
}).map(({ style, ...sizes }) => ({
  ...style,
  ...sizes,
  vocabulary: VOCABULARY,
}));

const request = fc.record({
  tokens: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 9 }),
  maxSteps: fc.integer({ min: 1, max: POSITIONS - 8 }),
});

function statesOf({ layers }: TinyDecoder): Record<string, string> {
  return Object.fromEntries(
    Array.from(
      { length: layers },
      (_, layer) =>
        ["key", "value"].map((part) => [
          `past_key_values.${layer}.${part}`,
          `present.${layer}.${part}`,
        ]),
    ).flat(),
  );
}

/** Between scores that lie closer, rounding may decide. */
const CLEAR = 1e-4;

const policy = fc.constantFrom(...Object.keys(POLICIES)).chain((name) =>
  anyOptions(name).map((options) => ({ name, options }))
);

Deno.test("a decoder gives the tokens of its file, in every batch under every policy", async () => {
  const seen = { clear: 0, steps: 0 };
  await fc.assert(
    fc.asyncProperty(
      tiny,
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(VOCABULARY - 1), { maxLength: 3 }),
      policy,
      fc.record({
        workers: fc.integer({ min: 1, max: 2 }),
        gapNs: fc.constantFrom(0, 700, 5000),
      }),
      async (options, requests, stop, { name, options: given }, drive) => {
        const file = tinyDecoder(options);
        const model = await loadOnnx(file, {
          name: "tiny",
          decoder: { stop, positionsMax: POSITIONS },
        });
        const alone = runRequests(model, requests);
        const plain = readModel(ownFile(options), { label: "tiny" });
        requests.forEach(({ tokens, maxSteps }, i) => {
          const { ids, gaps } = decodePlain(plain, statesOf(options), {
            tokens,
            steps: maxSteps,
            stop,
          });
          const close = gaps.findIndex((gap) => gap < CLEAR);
          const clear = close < 0 ? ids.length : close;
          const made = [...alone[i].tokens.data];
          assert.deepEqual(made.slice(0, clear), ids.slice(0, clear));
          if (close < 0) assert.equal(made.length, ids.length);
          seen.clear += close < 0 ? 1 : 0;
          seen.steps += made.length;
        });
        const policy = POLICIES[name].build(given);
        assert.equal(policy.supports(model), undefined, `${name} takes it`);
        const mixed = endings(model, requests, { policy, ...drive });
        assert.deepStrictEqual(mixed, alone);
      },
    ),
    { numRuns: propertyRuns(150) },
  );
  assert(seen.clear > 100 && seen.steps > 1000, "something is looked at");
});

Deno.test("a decoder gives the same tokens in worker threads", async () => {
  const prompts = [[1], [2, 3], [4, 9, 8, 12, 1, 0], [7, 7], [11], [3, 1, 4]];
  const requests = prompts.map((tokens, i) => ({
    tokens,
    maxSteps: 6 + 2 * i,
  }));
  for (const style of [...STYLES, ...BIASED]) {
    const file = tinyDecoder({
      ...style,
      ...{ layers: 2, heads: 4, size: 4, vocabulary: VOCABULARY, seed: 3 },
    });
    const model = await loadOnnx(file, {
      decoder: { stop: [5, 7], positionsMax: POSITIONS },
    });
    const alone = runRequests(model, requests);
    for (const [policy, options] of Object.entries(BATCHING)) {
      await using engine = await ServingEngine.create({
        models: [model],
        policy: POLICIES[policy].build(options),
        workers: 2,
      });
      const threads = await Promise.all(
        requests.map((input) => ask(engine, model, input)),
      );
      assert.deepStrictEqual(threads, alone, policy);
    }
  }
});

const FIRST = { layers: 2, heads: 4, size: 4, vocabulary: VOCABULARY, seed: 5 };

Deno.test("keys and values are kept, by as many heads as the file has of them", async () => {
  const widths = async (shared: Style["shared"]) => {
    const file = tinyDecoder({
      ...{ ...STYLES[4], shared, positions: "rotary", mask: "input" },
      ...FIRST,
    });
    const { cells } = await loadOnnx(file, { decoder: {} });
    assert.deepEqual(
      cells.map(({ name }) => name.split("/")[1]),
      ["prefill", "step"],
    );
    assert(cells[0].tokensMax !== undefined, "a prompt is one ragged node");
    return cells[1].caches.map(({ keyWidth, appends }) => {
      assert(appends);
      return keyWidth;
    });
  };
  assert.deepEqual(await widths("no"), [16, 16]);
  assert.deepEqual(await widths("broadcast"), [8, 8]);
  assert.deepEqual(await widths("expanded"), [8, 8]);
  assert.deepEqual(await widths("tiled"), [16, 16]);
});

Deno.test("nothing of a decoder's step runs in plain TypeScript", async () => {
  for (const style of [...STYLES, ...BIASED]) {
    const file = tinyDecoder({ ...style, ...FIRST });
    const { cells } = await loadOnnx(file, { decoder: { stop: [1, 2] } });
    for (const { operators } of cells) {
      assert(operators.every(({ op }) => op !== "Plain"));
    }
  }
});

Deno.test("a decoder has as many positions as its table, or as it is told", async () => {
  const file = tinyDecoder({ ...STYLES[0], ...FIRST });
  const model = await loadOnnx(file, { decoder: {} });
  assert.equal(model.positionsMax, TABLE_ROWS);
  await assert.rejects(
    () => loadOnnx(file, { decoder: { positionsMax: TABLE_ROWS + 1 } }),
    (error: Error) =>
      error instanceof OnnxError &&
      /40 positions; decoder: { positionsMax: 41 } is more/.test(error.message),
  );
  const tokens = Array<number>(TABLE_ROWS).fill(1);
  assert.throws(
    () => model.check({ tokens, maxSteps: 2 }),
    /"maxSteps" .* up to 1 \(what the prompt leaves of .* "positionsMax"\)/,
  );
  assert.throws(() => model.check({ tokens: [...tokens, 1] }), RangeError);
  assert.throws(() => model.check({ tokens: [VOCABULARY] }), RangeError);
  assert.throws(() => model.check({ tokens: [] }), RangeError);
  assert.throws(
    () => model.check({ tokens: [1], temperature: 1 } as never),
    /temperature/,
  );
});

Deno.test("a mask that leaves positions out, other than by distance, is refused where it begins to", async () => {
  const file = tinyDecoder({ ...STYLES[1], ...FIRST });
  const { positionsMax, notes } = await loadOnnx(file, { decoder: {} });
  assert.equal(positionsMax, TRIANGLE);
  assert.match(
    notes[0],
    /^what scores get of .* from 48 on$/,
  );
  await assert.rejects(
    () => loadOnnx(file, { decoder: { positionsMax: TRIANGLE + 1 } }),
    (error: Error) =>
      error instanceof OnnxError &&
      /from 48 on; decoder: { positionsMax: 49 } is more/.test(error.message),
  );
});

Deno.test("of a decoder merged of two the one with a past is taken, unless the other one is asked for", async () => {
  const file = tinyDecoder({ ...STYLES[2], ...FIRST, merged: true });
  const requests = [{ tokens: [1, 2, 3], maxSteps: 8 }];
  const decoder = { positionsMax: POSITIONS };
  const model = await loadOnnx(file, { decoder });
  const apart = await loadOnnx(tinyDecoder({ ...STYLES[2], ...FIRST }), {
    decoder,
  });
  assert.deepEqual(model.inputs, []);
  const wanted = runRequests(apart, requests);
  assert.deepStrictEqual(runRequests(model, requests), wanted);
  // Its scores are the negative ones.
  const other = await loadOnnx(file, {
    decoder,
    constants: new Map([["use_cache_branch", plainOf("bool", [1], [0])]]),
  });
  assert.notDeepEqual(runRequests(other, requests), wanted);
});

Deno.test("tables of bytes become the floats that they stand for", async () => {
  const options: TinyDecoder = { ...STYLES[0], ...FIRST, bytes: true };
  const file = tinyDecoder(options);
  const model = await loadOnnx(file, { decoder: { positionsMax: POSITIONS } });
  for (const { operators } of model.cells) {
    assert(operators.every(({ op }) => op !== "Plain"));
  }
  for (const tokens of [[1, 2, 3], [8], [18, 0]]) {
    const { ids, gaps } = decodePlain(readModel(file), statesOf(options), {
      ...{ tokens, steps: 12 },
    });
    assert(Math.min(...gaps) > CLEAR);
    const [made] = runRequests(model, [{ tokens, maxSteps: 12 }]);
    assert.deepEqual([...made.tokens.data], ids);
  }
  assert.throws(() => model.check({ tokens: [VOCABULARY] }), RangeError);
});

Deno.test("what reads earlier positions otherwise than by attention is refused, by its node", async () => {
  const refused: readonly (readonly [TinyDecoder, string])[] = [
    [{ ...STYLES[4], ...FIRST, sums: true }, "ReduceSum"],
    [{ ...STYLES[7], ...FIRST, causal: true }, "Attention"],
  ];
  for (const [options, op] of refused) {
    await assert.rejects(
      () => loadOnnx(tinyDecoder(options), { decoder: {} }),
      (error: Error) =>
        error instanceof OnnxError &&
        new RegExp(`node "${op}.*it reads states of earlier positions`).test(
          error.message,
        ),
    );
  }
});
