/** Decoders whose states keep their size, from ONNX files of a step: prompts are steps as well. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { loadOnnx } from "../../src/onnx/load.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainTensor } from "../../src/tensor/plain_tensor.ts";
import { anyOptions } from "../engine/arbitraries.ts";
import { propertyRuns } from "../property_runs.ts";
import { endings, runRequests } from "../run_requests.ts";
import { recurrentDecoder } from "./recurrent_files.ts";
import { decodePlain } from "./plain_decoding.ts";

const VOCABULARY = 13;
const CLEAR = 1e-4;

const request = fc.record({
  tokens: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 6 }),
  maxSteps: fc.integer({ min: 1, max: 9 }),
  begins: fc.boolean(),
});

const policy = fc.constantFrom(...Object.keys(POLICIES)).chain((name) =>
  anyOptions(name).map((options) => ({ name, options }))
);

Deno.test("a recurrent decoder gives the tokens of its file, in every batch under every policy", async () => {
  let clear = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("LSTM" as const, "GRU" as const),
      fc.record({
        hidden: fc.integer({ min: 2, max: 9 }),
        vocabulary: fc.constant(VOCABULARY),
        seed: fc.nat(1000),
      }),
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(VOCABULARY - 1), { maxLength: 2 }),
      policy,
      fc.constantFrom(0, 700, 5000),
      async (op, sizes, requests, stop, { name, options }, gapNs) => {
        const { file, states } = recurrentDecoder(op, sizes);
        const decoder = { states, stop, positionsMax: 14 };
        const model = await loadOnnx(file, { name: "tiny", decoder });
        assert.deepEqual(
          model.inputs.map(({ name }) => name),
          Object.keys(states),
        );
        const state = Float32Array.from(
          { length: sizes.hidden },
          (_, i) => Math.sin(i),
        );
        const inputs = requests.map(({ tokens, maxSteps, begins }) => ({
          tokens,
          maxSteps,
          ...(begins && { inputs: { h0: state } }),
        }));
        const alone = runRequests(model, inputs);
        const plain = readModel(file, { label: "tiny" });
        requests.forEach(({ tokens, maxSteps: steps, begins }, i) => {
          const { ids, gaps } = decodePlain(plain, states, {
            ...{ tokens, steps, stop },
            ...(begins && {
              initial: new Map([
                ["h0", plainTensor("float32", [1, 1, sizes.hidden], state)],
              ]),
            }),
          });
          const close = gaps.findIndex((gap) => gap < CLEAR);
          const made = [...alone[i].tokens.data];
          const upTo = close < 0 ? ids.length : close;
          assert.deepEqual(made.slice(0, upTo), ids.slice(0, upTo));
          if (close < 0) assert.equal(made.length, ids.length);
          clear += upTo;
        });
        const begun = await loadOnnx(file, {
          name: "tiny",
          decoder: {
            ...decoder,
            states: { ...states, h0: { from: states["h0"], initial: state } },
          },
        });
        inputs.forEach(({ tokens, maxSteps, inputs }, i) => {
          if (!inputs) return;
          const [same] = runRequests(begun, [{ tokens, maxSteps }]);
          assert.deepStrictEqual(same, alone[i], "what a state is at first");
        });
        const policy = POLICIES[name].build(options);
        assert.equal(policy.supports(model), undefined, `${name} takes it`);
        const mixed = endings(model, inputs, { policy, gapNs, workers: 2 });
        assert.deepStrictEqual(mixed, alone);
      },
    ),
    { numRuns: propertyRuns(150) },
  );
  assert(clear > 500, `${clear} steps are looked at`);
});

Deno.test("states and inputs that do not fit are refused by name", async () => {
  const { file, states } = recurrentDecoder("LSTM", {
    ...{ hidden: 4, vocabulary: VOCABULARY, seed: 1 },
  });
  const model = await loadOnnx(file, { decoder: { states } });
  assert.throws(
    () => model.check({ tokens: [1], inputs: { h0: new Float32Array(5) } }),
    /"h0".*got 5 elements/,
  );
  assert.throws(
    () => model.check({ tokens: [1], inputs: { h9: new Float32Array(4) } }),
    /h9/,
  );
  const refused: [object, RegExp][] = [
    [{}, /nothing is handed on|which output the scores are/],
    [{ states: { h9: "h0_next" } }, /state "h9": there is no such input/],
    [{ states: { h0: "h9" } }, /state "h0": there is no output "h9"/],
    [
      { states: { h0: "logits", c0: "c0_next" }, logits: "h0_next" },
      /state "h0": it is float32 1 x 1 x 4, output "logits" is float32 1 x 13/,
    ],
    [
      { states: { h0: { from: "h0_next", initial: new Float32Array(3) } } },
      /h0.*got 3 elements/,
    ],
    [{ states, token: "ids" }, /no input "ids"/],
    [{ states, logits: "scores" }, /no output "scores"/],
  ];
  for (const [decoder, message] of refused) {
    await assert.rejects(
      () => loadOnnx(file, { decoder }),
      (error: Error) =>
        error instanceof RangeError && message.test(error.message),
      `${message}`,
    );
  }
  await assert.rejects(
    () => loadOnnx(file, { decoder: { states, stop: [VOCABULARY] } }),
    /no token 13 to stop at/,
  );
  await assert.rejects(
    () => loadOnnx(file, { decoder: { states, stops: [1] } as never }),
    /stops/,
  );
});
