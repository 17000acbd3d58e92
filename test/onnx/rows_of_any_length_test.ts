/** Several rows of a file with a free axis: each is a request of its own, with its own bits, answered as one tensor. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { given, type Request } from "./sequence_checks.ts";
import { BERT_INPUTS, bertFile, recurrentFile } from "./sequence_models.ts";

const ROWS = 3;
const LENGTH_MAX = 12;
const SEED = 31;

interface Case {
  readonly file: OnnxModel;
  readonly axis: string;
  readonly request: (rows: number, length: number, prng: Prng) => Request;
}

function drawn(
  rows: number,
  length: number,
  below: number,
  prng: Prng,
): PlainTensor {
  const ids = Array.from({ length: rows * length }, () => prng.int(below));
  return plainOf("int64", [rows, length], ids);
}

function encoder(): Case {
  const writer = bertFile(new Prng(SEED), {
    ...{ layers: 2, hidden: 16, heads: 4, vocabulary: 23, positions: 20 },
    ...{ mask: "added", norm: "parts", head: "pooled" },
  });
  return {
    file: writer.read(BERT_INPUTS, ["last_hidden_state", "head"], 17),
    axis: "sequence",
    request: (rows, length, prng) =>
      new Map([
        ["input_ids", drawn(rows, length, 23, prng)],
        [
          "attention_mask",
          plainOf("int64", [rows, length], new Array(rows * length).fill(1)),
        ],
        ["token_type_ids", drawn(rows, length, 2, prng)],
      ]),
  };
}

function recurrent(head: "tags" | "states"): Case {
  const writer = recurrentFile(new Prng(SEED), {
    ...{ op: "LSTM", direction: "bidirectional", layers: 2, hidden: 5 },
    ...{ input: { words: 11 }, between: "nothing", head },
  });
  return {
    file: writer.read(
      [{ name: "ids", type: "int64", dims: ["batch", "time"] }],
      ["head"],
      17,
    ),
    axis: "time",
    request: (rows, length, prng) =>
      new Map([["ids", drawn(rows, length, 11, prng)]]),
  };
}

/** Row i along the first axis. */
function rowOf({ type, dims, data }: PlainTensor, i: number): PlainTensor {
  const size = data.length / dims[0];
  return {
    ...{ type, dims: [1, ...dims.slice(1)] },
    data: data.slice(i * size, (i + 1) * size),
  } as PlainTensor;
}

const CASES: Readonly<Record<string, () => Case>> = {
  "an encoder": encoder,
  "recurrent layers, a tag for every position": () => recurrent("tags"),
  "recurrent layers, their last states": () => recurrent("states"),
};

for (const [what, make] of Object.entries(CASES)) {
  Deno.test(`rows of any length: ${what}`, async () => {
    const { file, axis, request } = make();
    const model = onnxModel(file, { sizesMax: { [axis]: LENGTH_MAX } });
    assert.equal(model.whyOneRow, undefined);
    const prng = new Prng(SEED);
    await using engine = await ServingEngine.create({
      models: [model],
      policy: POLICIES["cellular"].build({}),
      workers: 0,
    });
    for (const length of [1, 2, 5, LENGTH_MAX]) {
      const all = request(ROWS, length, prng);
      const { outputs } = await engine.run(model, given(all));
      const wanted = runPlainGraph(file.graph, all);
      for (const { name } of model.results) {
        const { dims, data } = wanted.get(name)!;
        assert.deepEqual(outputs[name].shape, dims, `${length}: ${name}`);
        data.forEach((value, at) =>
          assert(
            Math.abs(Number(outputs[name].data[at]) - Number(value)) < 2e-5,
          )
        );
      }
      const axisOf = (name: string) => model.rowAxes.get(name)!;
      for (let i = 0; i < ROWS; i++) {
        const row: Request = new Map(
          [...all].map(([name, tensor]) => [name, rowOf(tensor, i)]),
        );
        const alone = (await engine.run(model, given(row))).outputs;
        for (const { name } of model.results) {
          const { shape, data } = outputs[name];
          const inner = shape.slice(axisOf(name) + 1).reduce(
            (a, b) => a * b,
            1,
          );
          const own = data.filter((_, at) =>
            Math.floor(at / inner) % ROWS === i
          );
          assert.deepEqual(
            own,
            alone[name].data,
            `${length}: ${name}, row ${i}`,
          );
        }
      }
    }
    // Elements without a shape are of one row: how many there are of it nobody has said.
    const [name, { data }] = [...request(ROWS, 2, prng)][0];
    assert.equal(model.rows!.split({ [name]: data }), undefined);
  });
}
