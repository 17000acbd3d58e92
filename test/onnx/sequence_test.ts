/**
 * Files with a free sequence axis: beside the plain graph at several lengths, and the same bits alone and among
 * requests of other lengths, under every policy.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { type OnnxCellModel, onnxModel } from "../../src/onnx/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { BATCHING } from "./step_cases.ts";
import { given, near, type Request } from "./sequence_checks.ts";
import {
  BERT_INPUTS,
  type BertFile,
  bertFile,
  type RecurrentFile,
  recurrentFile,
} from "./sequence_models.ts";

const SEED = 31;
const LENGTH_MAX = 12;
const SMALL: BertFile = {
  ...{ layers: 2, hidden: 16, heads: 4, vocabulary: 23, positions: 20 },
  ...{ mask: "added", norm: "parts", head: "pooled" },
};

function bertRequest(length: number, prng: Prng): Request {
  const ids = (below: number) =>
    Array.from({ length }, () => Math.floor(below * prng.float()));
  return new Map([
    ["input_ids", plainOf("int64", [1, length], ids(SMALL.vocabulary))],
    [
      "attention_mask",
      plainOf("int64", [1, length], new Array(length).fill(1)),
    ],
    ["token_type_ids", plainOf("int64", [1, length], ids(2))],
  ]);
}

/** A file with what it is asked. */
interface Loaded {
  file: OnnxModel;
  model: OnnxCellModel;
  request: (length: number, prng: Prng) => Request;
}

function load(
  made: Partial<BertFile>,
  cells: "layer" | "model" = "layer",
): Loaded {
  const options = { ...SMALL, ...made };
  const writer = bertFile(new Prng(SEED), options);
  const used = new Set(writer.nodes.flatMap(({ inputs }) => inputs));
  const file = writer.read(
    BERT_INPUTS.filter(({ name }) => used.has(name)),
    ["last_hidden_state", "head"],
    17,
  );
  return {
    file,
    model: onnxModel(file, { cells, sizesMax: { sequence: LENGTH_MAX } }),
    request: (length, prng) =>
      new Map(
        [...bertRequest(length, prng)].filter(([name]) => used.has(name)),
      ),
  };
}

const CASES: Readonly<Record<string, Partial<BertFile>>> = {
  "a mask that is added, the pooled first token": {},
  "a mask that is expanded, the mean": {
    mask: "expanded",
    head: "mean",
    norm: "operator",
  },
  "no mask, the largest": { mask: "none", head: "largest", norm: "operator" },
  "a triangle, the mean of what is not masked": {
    mask: "causal",
    head: "masked mean",
  },
};

const RECURRENT: RecurrentFile = {
  ...{ op: "LSTM", direction: "bidirectional", layers: 1, hidden: 5 },
  ...{ input: { words: 11 }, between: "nothing", head: "tags" },
};

function loadRecurrent(
  made: Partial<RecurrentFile>,
  cells: "layer" | "model" = "layer",
): Loaded {
  const options = { ...RECURRENT, ...made };
  const writer = recurrentFile(new Prng(SEED), options);
  const { input } = options;
  const file = writer.read(
    "frame" in input
      ? [{ name: "frames", dims: ["batch", "time", input.frame] }]
      : [{ name: "ids", type: "int64", dims: ["batch", "time"] }],
    ["head"],
    17,
  );
  return {
    file,
    model: onnxModel(file, { cells, sizesMax: { time: LENGTH_MAX } }),
    request: (length, prng) =>
      new Map([
        "frame" in input
          ? ["frames", writer.drawn("float32", [1, length, input.frame])]
          : [
            "ids",
            plainOf(
              "int64",
              [1, length],
              Array.from(
                { length },
                () => Math.floor(input.words * prng.float()),
              ),
            ),
          ],
      ]),
  };
}

const RECURRENT_CASES: Readonly<Record<string, Partial<RecurrentFile>>> = {
  "both ways, a tag for every position": {},
  "two layers both ways, their last states": { layers: 2, head: "states" },
  "frames, a dense layer between two, the last position": {
    ...{ input: { frame: 3 }, between: "dense", layers: 2, head: "first" },
  },
  "GRU in reverse, the mean": { op: "GRU", direction: "reverse", head: "mean" },
  "RNN over frames, the largest": {
    ...{
      op: "RNN",
      direction: "forward",
      input: { frame: 4 },
      head: "largest",
    },
  },
};

for (const [what, made] of Object.entries(RECURRENT_CASES)) {
  Deno.test(`recurrent layers of any length: ${what}`, () => {
    const { file, model, request } = loadRecurrent(made);
    const prng = new Prng(SEED);
    for (const length of [1, 2, 5, LENGTH_MAX]) {
      near(model, file, request(length, prng), `length ${length}`);
    }
  });
}

for (const [what, made] of Object.entries(CASES)) {
  Deno.test(`an encoder of any length: ${what}`, () => {
    const { file, model, request } = load(made);
    const prng = new Prng(SEED);
    for (const length of [1, 2, 5, LENGTH_MAX]) {
      near(model, file, request(length, prng), `length ${length}`);
    }
  });
}

const arbitrary = fc.oneof(
  fc.record({
    layers: fc.integer({ min: 1, max: 2 }),
    heads: fc.constantFrom(1, 2, 4),
    mask: fc.constantFrom(...["added", "expanded", "none", "causal"] as const),
    norm: fc.constantFrom(...["parts", "operator"] as const),
    head: fc.constantFrom(...["pooled", "mean", "largest"] as const),
    cells: fc.constantFrom(...["layer", "model"] as const),
  }).map(({ cells, ...made }) => ({
    what: `BERT ${JSON.stringify(made)}`,
    loaded: () => load(made, cells),
  })),
  fc.record({
    op: fc.constantFrom(...["LSTM", "GRU", "RNN"] as const),
    direction: fc.constantFrom(
      ...["forward", "reverse", "bidirectional"] as const,
    ),
    layers: fc.integer({ min: 1, max: 2 }),
    input: fc.constantFrom({ words: 9 }, { frame: 3 }),
    between: fc.constantFrom(...["nothing", "dense"] as const),
    head: fc.constantFrom(
      ...["tags", "states", "first", "mean", "largest"] as const,
    ),
    cells: fc.constantFrom(...["layer", "model"] as const),
  }).map(({ cells, ...made }) => ({
    what: JSON.stringify(made),
    loaded: () => loadRecurrent(made, cells),
  })),
);

for (const [name, options] of Object.entries(BATCHING)) {
  Deno.test(`requests of unlike lengths get their own bits: ${name}`, () => {
    fc.assert(
      fc.property(
        arbitrary,
        fc.array(fc.integer({ min: 1, max: LENGTH_MAX }), {
          minLength: 2,
          maxLength: 7,
        }),
        fc.integer({ min: 1, max: 2 }),
        fc.constantFrom(0, 700, 4000),
        (made, lengths, workers, gapNs) => {
          const { file, model, request } = made.loaded();
          const prng = new Prng(SEED);
          const requests = lengths.map((length) => request(length, prng));
          near(model, file, requests[0], made.what);
          const inputs = requests.map(given);
          const alone = inputs.map((input) => runRequests(model, [input])[0]);
          const policy = POLICIES[name].build(options);
          assert.equal(policy.supports(model), undefined);
          const mixed = runRequests(model, inputs, { policy, workers, gapNs });
          assert.deepStrictEqual(mixed, alone, made.what);
        },
      ),
      { seed: SEED, numRuns: 25 },
    );
  });
}
