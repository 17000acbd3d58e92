/**
 * Decoders that look at what an encoder saw, as exporters write a step of them (BART, T5, Whisper): its states, or keys
 * and values made of them before, and a mask. Of a size that is given; what is shorter is filled up and masked.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import type { DecoderOptions } from "../../src/onnx/decoder/options.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING } from "./batching.ts";
import { FileParts } from "./file_parts.ts";
import { decodePlain } from "./plain_decoding.ts";
import { writeModel, type WrittenValue } from "./write_model.ts";

const HEADS = 2;
const SIZE = 4;
const WIDTH = HEADS * SIZE;
const VOCABULARY = 13;
/** Axis of what the encoder saw, and the most of it. */
const SEEN = "encoder_sequence_length";
const SEEN_MAX = 6;
const STEPS = 7;
/** Between scores that lie closer, rounding may decide. */
const GAP = 1e-4;

const STATES: Readonly<Record<string, string>> = Object.fromEntries(
  ["key", "value"].map((part) => [
    `past_key_values.0.decoder.${part}`,
    `present.0.decoder.${part}`,
  ]),
);

/** @param brings what a request has of the encoder */
function decoderFile(brings: "states" | "keys", prng: Prng) {
  const parts = new FileParts();
  const weight = (rows: number, columns = WIDTH) =>
    parts.constant(plainTensor(
      "float32",
      [rows, columns],
      Float32Array.from(
        { length: rows * columns },
        () => (2 * prng.float() - 1) * 3 / Math.sqrt(rows),
      ),
    ));
  const linear = (x: string) => parts.add("MatMul", [x, weight(WIDTH)]);
  const split = (x: string) =>
    parts.add("Transpose", [
      parts.add("Reshape", [x, parts.ints(0, -1, HEADS, SIZE)]),
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
  let x = parts.add("Gather", [weight(VOCABULARY), "input_ids"]);
  const [k, v] = Object.entries(STATES).map(([past, present]) =>
    parts.add("Concat", [past, split(linear(x))], { axis: 2 }, present)
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
  const mask = parts.add("Mul", [off, parts.float(-3.4028234663852886e38)]);
  const seen = brings === "states"
    ? [1, 2].map(() => split(linear("encoder_hidden_states")))
    : ["key", "value"].map((part) => `past_key_values.0.encoder.${part}`);
  x = parts.add("Add", [
    x,
    attention(split(linear(x)), seen[0], seen[1], mask),
  ]);
  parts.add("MatMul", [x, weight(WIDTH, VOCABULARY)], {}, "logits");
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
        { name: "input_ids", type: "int64", dims: ["batch", "length"] },
        ...Object.keys(STATES).map((name) => cache(name, "past_length")),
        ...brings === "states"
          ? [{ name: "encoder_hidden_states", dims: ["batch", SEEN, WIDTH] }]
          : seen.map((name) => cache(name, SEEN)),
      ],
      outputs: ["logits", ...Object.values(STATES)].map((name) => ({ name })),
      ...parts,
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
    const decoder: DecoderOptions = { states: STATES, positionsMax: 16 };
    await assert.rejects(
      loadOnnx(bytes, { decoder }),
      /sizes: \{ "encoder_sequence_length": \.\.\. \}/,
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
