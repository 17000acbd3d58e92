/**
 * Decoders that look at what an encoder saw, as exporters write a step of them (BART, Marian, Whisper): its states, or
 * keys and values made of them before, and a mask. Every request has as many positions as its encoder saw; or they are of
 * a size that is given, and what is shorter is filled up and masked.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import {
  decoderModel,
  type OnnxDecoder,
} from "../../src/onnx/decoder/decoder_model.ts";
import type { DecoderOptions } from "../../src/onnx/decoder/options.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { ask } from "../engine/ask.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import {
  crossDecoder,
  ENCODED,
  HEADS,
  POSITIONS,
  SEEN,
  SIZE,
  STATES,
  VOCABULARY,
  WIDTH,
} from "./cross_files.ts";
import { decodePlain } from "./plain_decoding.ts";

/** The most that an encoder saw. */
const SEEN_MAX = 6;
const STEPS = 7;
/** Between scores that lie closer, rounding may decide. */
const GAP = 1e-4;

/** What an encoder made of so many positions: of those behind, and in between, whatever was there. */
function encoded(
  brings: "states" | "keys",
  seen: number,
  of: number,
  seed: number,
): Map<string, PlainTensor> {
  const names = brings === "states"
    ? ["encoder_hidden_states"]
    : ["key", "value"].map((part) => `past_key_values.0.encoder.${part}`);
  const [heads, size] = brings === "states" ? [1, WIDTH] : [HEADS, SIZE];
  const values = names.map((name, which): [string, PlainTensor] => {
    const prng = new Prng(seed).fork(name);
    const dims = brings === "states" ? [1, of, size] : [1, heads, of, size];
    const data = new Float32Array(elementCount(dims)).fill(which + 2);
    for (let at = 0; at < seen; at++) {
      for (let head = 0; head < heads; head++) {
        for (let i = 0; i < size; i++) {
          data[(head * of + at) * size + i] = 2 * prng.float() - 1;
        }
      }
    }
    return [name, plainTensor("float32", dims, data)];
  });
  const mask = Array.from({ length: of }, (_, i) => i < seen ? 1 : 0);
  return new Map([
    ["encoder_attention_mask", plainOf("int64", [1, of], mask)],
    ...values,
  ]);
}

for (const brings of ["states", "keys"] as const) {
  Deno.test(`a decoder looks at ${brings} of an encoder of any length up to a given one`, async () => {
    const bytes = crossDecoder(brings, new Prng(5));
    const decoder: DecoderOptions = { states: STATES, positionsMax: POSITIONS };
    await assert.rejects(
      loadOnnx(bytes, { decoder }),
      /sizes: \{ "encoder_sequence_length": \.\.\. \}; or, .* sizesMax/,
    );
    const model = await loadOnnx(bytes, {
      decoder,
      sizes: { [SEEN]: SEEN_MAX },
    });
    const asked = Array.from({ length: SEEN_MAX }, (_, i) => ({
      seen: i + 1,
      tokens: [i, 2 * i % VOCABULARY, 3].slice(0, 1 + i % 3),
    }));
    const requests = asked.map(({ seen, tokens }) => ({
      tokens,
      maxSteps: STEPS,
      inputs: Object.fromEntries(
        [...encoded(brings, seen, SEEN_MAX, seen)].map((
          [name, { data }],
        ) => [name, data as Float32Array | BigInt64Array]),
      ),
    }));
    const alone = requests.map((request) => runRequests(model, [request])[0]);
    const file = readModel(bytes);
    asked.forEach(({ seen, tokens }, i) => {
      // Beside the file as it stands, of the length itself: nothing filled up.
      const { ids, gaps } = decodePlain(file, STATES, {
        ...{ tokens, steps: STEPS },
        others: encoded(brings, seen, seen, seen),
      });
      assert(Math.min(...gaps) > GAP, `request ${i}: scores are too close`);
      assert.deepEqual([...alone[i].tokens.data], ids, `request ${i}`);
    });
    for (const [policy, options] of Object.entries(BATCHING)) {
      assert.deepEqual(
        runRequests(model, requests, {
          ...{ workers: 2, gapNs: 700 },
          policy: POLICIES[policy].build(options),
        }),
        alone,
        policy,
      );
    }
  });
}

/** What requests bring besides tokens, by the length of what they look at. */
function seenInputs(brings: "states" | "keys", seen: number) {
  return Object.fromEntries(
    [...encoded(brings, seen, seen, seen)].flatMap(([name, { data }]) =>
      name === "encoder_attention_mask" ? [] : [[name, data as Float32Array]]
    ),
  );
}

for (const brings of ["states", "keys", "merged"] as const) {
  const given = brings === "keys" ? "keys" : "states";

  Deno.test(`a decoder of ${brings} looks at as many positions as each request's encoder saw`, async () => {
    const bytes = crossDecoder(brings, new Prng(5));
    const decoder: DecoderOptions = { positionsMax: POSITIONS, scores: true };
    const model = await loadOnnx(bytes, {
      decoder,
      sizesMax: { [SEEN]: SEEN_MAX },
    });
    assert.deepEqual(
      model.inputs.map(({ name, shape, free }) => [name, shape, free]),
      given === "states"
        ? [[
          "encoder_hidden_states",
          [1, SEEN_MAX, WIDTH],
          { axis: 1, name: SEEN },
        ]]
        : ENCODED.map((name) => [
          `past_key_values.${name}`,
          [1, HEADS, SEEN_MAX, SIZE],
          { axis: 2, name: SEEN },
        ]),
    );
    assert.deepEqual(
      model.cells.map(({ name, tokensMax }) => [name.split("/")[1], tokensMax]),
      [["encoder", SEEN_MAX], ["prefill", POSITIONS - 1], ["step", undefined]],
    );
    const requests = Array.from({ length: SEEN_MAX }, (_, i) => ({
      tokens: [i, 2 * i % VOCABULARY, 3].slice(0, 1 + i % 3),
      maxSteps: STEPS - i % 2,
      inputs: seenInputs(given, i + 1),
    }));
    const alone = requests.map((request) => runRequests(model, [request])[0]);
    const file = readModel(crossDecoder(given, new Prng(5)));
    requests.forEach(({ tokens, maxSteps }, i) => {
      const { ids, gaps } = decodePlain(file, STATES, {
        ...{ tokens, steps: maxSteps },
        others: encoded(given, i + 1, i + 1, i + 1),
      });
      assert(Math.min(...gaps) > GAP, `request ${i}: scores are too close`);
      assert.deepEqual([...alone[i].tokens.data], ids, `request ${i}`);
    });
    const drive = { workers: 2, gapNs: 700 };
    for (const [policy, options] of Object.entries(BATCHING)) {
      assert.deepStrictEqual(
        runRequests(model, requests, {
          ...{ ...drive, policy: POLICIES[policy].build(options) },
        }),
        alone,
        policy,
      );
    }
    await using engine = await ServingEngine.create({
      models: [model],
      policy: POLICIES["cellular"].build(BATCHING["cellular"]),
      workers: 2,
    });
    assert.deepStrictEqual(
      await Promise.all(requests.map((input) => ask(engine, model, input))),
      alone,
    );
  });
}

Deno.test("what a request brings of an encoder is checked", async () => {
  const model: OnnxDecoder = await loadOnnx(crossDecoder("keys", new Prng(5)), {
    decoder: {},
    sizesMax: { [SEEN]: SEEN_MAX },
  });
  const inputs = seenInputs("keys", 3);
  const [key, value] = Object.keys(inputs);
  const refused = (inputs: Record<string, Float32Array>, why: RegExp) =>
    assert.throws(() => model.check({ tokens: [1], inputs }), why);
  model.check({ tokens: [1], inputs });
  refused({ [key]: inputs[key] }, /value.* is missing/);
  refused(
    { ...inputs, [value]: new Float32Array(2 * WIDTH) },
    /got 2 of "encoder_sequence_length", of which .*key" has 3/,
  );
  refused({ ...inputs, [key]: new Float32Array(WIDTH + 1) }, /got 9 elements/);
  refused(seenInputs("keys", SEEN_MAX + 1), /got 56 elements/);
});

Deno.test("what is no attention to all that an encoder saw is refused, by its node", async () => {
  const refused = async (
    file: Uint8Array<ArrayBuffer>,
    why: RegExp,
    sizesMax: Record<string, number> = { [SEEN]: SEEN_MAX },
    decoder: DecoderOptions = {},
  ) => {
    await assert.rejects(
      loadOnnx(file, { decoder, sizesMax }),
      (error) => error instanceof OnnxError && why.test(error.message),
      `${why}`,
    );
  };
  const file = (reads?: "sum" | "size" | "window") =>
    crossDecoder("states", new Prng(5), reads);
  await refused(
    file("sum"),
    /\(ReduceMax\): it reads what an encoder saw in a way that is no attention/,
  );
  await refused(
    file("size"),
    /\(Div\): "Cast_\d+" depends on how many positions an encoder saw/,
  );
  await refused(
    file("window"),
    /\(Add\): .* its mask leaves some of 4 "encoder_sequence_length" out/,
  );
  await refused(file(), /size "whatever": no input has it/, { whatever: 3 });
  await refused(file(), /it is 4, "encoder_sequence_length" 3: all are what/, {
    [SEEN]: 3,
    whatever: 4,
  });
  await refused(file(), /it is a whole number from 1 to 65536/, { [SEEN]: 0 });
  await refused(
    crossDecoder("merged", new Prng(5)),
    /state "encoder_hidden_states": it has as many positions as an encoder saw/,
    { [SEEN]: 3 },
    { states: { encoder_hidden_states: "present.0.encoder.key" } },
  );
});

Deno.test("a step that looks at what an encoder saw, and at nothing of its own past, is refused", () => {
  const file = readModel(crossDecoder("states", new Prng(5)));
  const { nodes } = file.graph;
  // What its own attention made is left out; keys and values are still handed on.
  const reshaped = nodes.find(({ op, inputs }) =>
    op === "MatMul" && inputs[0].startsWith("Reshape")
  )!;
  const token = nodes.find(({ op }) => op === "Add")!.outputs[0];
  const without = {
    ...file,
    graph: {
      ...file.graph,
      nodes: nodes.map((node) =>
        node === reshaped
          ? { ...node, inputs: [token, ...node.inputs.slice(1)] }
          : node
      ),
    },
  };
  assert.throws(
    () =>
      decoderModel(without, {
        decoder: { positionsMax: 4 },
        sizesMax: { encoder_sequence_length: 4 },
      }),
    /no attention reads what earlier steps hand on/,
  );
});
