/**
 * Decoders that look at what an encoder saw, as exporters write a step of them (BART, Marian, Whisper): its states, or
 * keys and values made of them before, and a mask. Every request has as many positions as its encoder saw; or they are of
 * a size that is given, and what is shorter is filled up and masked.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { OnnxDecoder } from "../../src/onnx/decoder/decoder_model.ts";
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
import { FileParts } from "./file_parts.ts";
import { decodePlain } from "./plain_decoding.ts";
import { node, writeModel, type WrittenValue } from "./write_model.ts";

const HEADS = 2;
const SIZE = 4;
const WIDTH = HEADS * SIZE;
const VOCABULARY = 13;
/** Axis of what the encoder saw, and the most of it. */
const SEEN = "encoder_sequence_length";
const SEEN_MAX = 6;
const STEPS = 7;
const POSITIONS = 16;
/** Between scores that lie closer, rounding may decide. */
const GAP = 1e-4;

const STATES: Readonly<Record<string, string>> = Object.fromEntries(
  ["key", "value"].map((part) => [
    `past_key_values.0.decoder.${part}`,
    `present.0.decoder.${part}`,
  ]),
);

const ENCODED = ["key", "value"].map((part) => `0.encoder.${part}`);

/**
 * @param brings what a request has of the encoder; "merged": keys, and an `If` of which the other branch makes them of
 * states
 * @param reads what else the step reads of it
 */
function decoderFile(
  brings: "states" | "keys" | "merged",
  prng: Prng,
  reads?: "sum" | "size" | "window",
) {
  const parts = new FileParts();
  const isMerged = brings === "merged";
  /** Of the branch without a past; its names are those of the other one. */
  const first = new FileParts();
  const made = (name: string) => isMerged ? `with past/${name}` : name;
  const weight = (rows: number, columns = WIDTH) =>
    parts.constant(plainTensor(
      "float32",
      [rows, columns],
      Float32Array.from(
        { length: rows * columns },
        () => (2 * prng.float() - 1) * 3 / Math.sqrt(rows),
      ),
    ));
  const linear = (x: string, to = parts) => {
    const used =
      parts.nodes.filter(({ op }) => op === "MatMul")[to.nodes.length];
    const name = to === first ? used.outputs[0] : undefined;
    return to.add("MatMul", [x, weight(WIDTH)], {}, name);
  };
  const split = (x: string, to = parts) =>
    to.add("Transpose", [
      to.add("Reshape", [x, parts.ints(0, -1, HEADS, SIZE)]),
    ], { perm: [0, 2, 1, 3] });
  const attention = (q: string, k: string, v: string, mask?: string) => {
    const turned = parts.add("Transpose", [k], { perm: [0, 1, 3, 2] });
    const scores = parts.add("MatMul", [q, turned]);
    const shares = parts.add("Softmax", [
      mask === undefined ? scores : parts.add("Add", [scores, mask]),
    ], { axis: -1 });
    const mixed = parts.add("Transpose", [parts.add("MatMul", [shares, v])], {
      perm: [0, 2, 1, 3],
    });
    return linear(parts.add("Reshape", [mixed, parts.ints(0, -1, WIDTH)]));
  };
  let x = parts.add("Add", [
    parts.add("Gather", [weight(VOCABULARY), "input_ids"]),
    parts.add("Gather", [weight(POSITIONS), "position_ids"]),
  ]);
  const [k, v] = Object.entries(STATES).map(([past, present]) =>
    parts.add("Concat", [past, split(linear(x))], { axis: 2 }, made(present))
  );
  x = parts.add("Add", [x, attention(split(linear(x)), k, v)]);
  const wide = parts.add("Unsqueeze", [
    "encoder_attention_mask",
    parts.ints(1, 2),
  ]);
  const off = parts.add("Sub", [
    parts.float(1),
    parts.add("Cast", [wide], { to: 1 }),
  ]);
  let mask = parts.add("Mul", [off, parts.float(-3.4028234663852886e38)]);
  if (reads === "window") {
    // Of four positions and more, the first one is left out.
    const count = parts.add("Shape", [mask]);
    const size = parts.add("Gather", [count, parts.ints(3)]);
    const rest = parts.add("Sub", [size, parts.ints(1)]);
    const added = parts.add("Where", [
      parts.add("Less", [size, parts.ints(4)]),
      ...[parts.float(0), parts.float(-1e9)],
    ]);
    const zeros = parts.add("ConstantOfShape", [rest]);
    const row = parts.add("Concat", [added, zeros], { axis: 0 });
    mask = parts.add("Add", [mask, row]);
  }
  const seen = brings === "keys"
    ? ENCODED.map((name) => `past_key_values.${name}`)
    : ENCODED.map(() => {
      const to = isMerged ? first : parts;
      return split(linear("encoder_hidden_states", to), to);
    });
  const [key, value] = isMerged
    ? ENCODED.map((name) => `past_key_values.${name}`)
    : seen;
  x = parts.add("Add", [x, attention(split(linear(x)), key, value, mask)]);
  if (reads === "sum") {
    x = parts.add("Add", [
      x,
      parts.add("ReduceMax", ["encoder_hidden_states"]),
    ]);
  } else if (reads === "size") {
    const count = parts.add("Size", ["encoder_hidden_states"]);
    x = parts.add("Div", [x, parts.add("Cast", [count], { to: 1 })]);
  }
  parts.add("MatMul", [x, weight(WIDTH, VOCABULARY)], {}, made("logits"));
  const outputs = ["logits", ...Object.values(STATES)];
  const presents = ENCODED.map((name) => `present.${name}`);
  const { initializers } = parts;
  const nodes = isMerged
    ? [
      node("If", ["use_cache_branch"], [...outputs, ...presents], {
        // Optimum gives keys of nothing where they are known.
        then_branch: {
          graph: {
            nodes: parts.nodes,
            outputs: [...outputs.map(made), "nothing", "nothing"].map((
              name,
            ) => ({
              name,
            })),
            initializers: {
              nothing: plainOf("float32", [0, HEADS, 1, SIZE], []),
            },
          },
        },
        else_branch: {
          graph: {
            nodes: [
              ...first.nodes,
              ...outputs.map((name, i) =>
                node("Identity", [["scores", ...Object.keys(STATES)][i]], [
                  `first/${name}`,
                ])
              ),
            ],
            outputs: [...outputs.map((name) => `first/${name}`), ...seen].map((
              name,
            ) => ({ name })),
            initializers: {
              scores: plainOf(
                "float32",
                [1, 1, VOCABULARY],
                Array(VOCABULARY).fill(0),
              ),
            },
          },
        },
      }),
    ]
    : parts.nodes;
  const cache = (name: string, axis: string): WrittenValue => ({
    name,
    dims: ["batch", HEADS, axis, SIZE],
  });
  return writeModel({
    opsets: { "": 17 },
    graph: {
      inputs: [
        {
          name: "encoder_attention_mask",
          type: "int64",
          dims: ["batch", SEEN],
        },
        ...["input_ids", "position_ids"].map((name) => ({
          ...{ name, type: "int64" as const, dims: ["batch", "length"] },
        })),
        ...Object.keys(STATES).map((name) => cache(name, "past_length")),
        ...brings === "keys"
          ? []
          : [{ name: "encoder_hidden_states", dims: ["batch", SEEN, WIDTH] }],
        ...brings === "states"
          ? []
          : ENCODED.map((name) => cache(`past_key_values.${name}`, SEEN)),
        ...isMerged
          ? [{ name: "use_cache_branch", type: "bool" as const, dims: [1] }]
          : [],
      ],
      outputs: [...outputs, ...isMerged ? presents : []].map((name) => ({
        name,
      })),
      nodes,
      initializers,
    },
  });
}

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
    const bytes = decoderFile(brings, new Prng(5));
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
    const bytes = decoderFile(brings, new Prng(5));
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
    const file = readModel(decoderFile(given, new Prng(5)));
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
  const model: OnnxDecoder = await loadOnnx(decoderFile("keys", new Prng(5)), {
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
    decoderFile("states", new Prng(5), reads);
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
    decoderFile("merged", new Prng(5)),
    /state "encoder_hidden_states": it has as many positions as an encoder saw/,
    { [SEEN]: 3 },
    { states: { encoder_hidden_states: "present.0.encoder.key" } },
  );
});
