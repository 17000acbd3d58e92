/**
 * What lies around attention and recurrent layers where the axis is free: values of the request beside those of
 * positions, states that are brought or computed, layers behind each other. Beside the plain graph at several lengths,
 * and with the bits of the request run alone.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import type { PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { ask } from "../engine/ask.ts";
import { given, near } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";
import { node, type WrittenValue } from "./write_model.ts";

const SEED = 17;
const LENGTH_MAX = 9;

interface Case {
  inputs: readonly WrittenValue[];
  /** Ids are below this. */
  words?: number;
  write(file: Writer): void;
  opset?: number;
  /** Cells whose rows are requests, steps and positions behind them, and ragged ones. */
  cells: readonly ("request" | "step" | "position" | "ragged")[];
}

const FRAMES: WrittenValue = { name: "x", dims: [1, "n", 8] };

/** One head of attention over rows [1, n, 8]. */
function attend(file: Writer, x: string): string {
  const [q, k, v] = [0, 1, 2].map(() => file.linear(x, 8, 8));
  const turned = file.add("Transpose", [k], { perm: [0, 2, 1] });
  const scores = file.add("Mul", [
    file.add("MatMul", [q, turned]),
    file.float(0.3),
  ]);
  return file.add("MatMul", [
    file.add("Softmax", [scores], { axis: 2 }),
    v,
  ]);
}

function layer(
  file: Writer,
  x: string,
  width: number,
  { op = "GRU", direction = "forward", states = [] as string[] } = {},
): string[] {
  const gates = op === "GRU" ? 3 : 4;
  const ways = direction === "bidirectional" ? 2 : 1;
  const names = ["y", "h", ...op === "LSTM" ? ["c"] : []].map((name) =>
    `${name} of ${x}`
  );
  file.nodes.push(node(
    op,
    [
      x,
      file.weight(ways, gates * 5, width),
      file.weight(ways, gates * 5, 5),
      file.weight(ways, 2 * gates * 5),
      "",
      ...states,
    ],
    names,
    {
      hidden_size: 5,
      direction,
      ...op === "GRU" && { linear_before_reset: 1 },
    },
  ));
  return names;
}

/** [1, n, width] as a layer takes it, and back. */
const inTime = (file: Writer, x: string) =>
  file.add("Transpose", [x], { perm: [1, 0, 2] });
const inBatch = (file: Writer, y: string, width: number) => {
  const turned = file.add("Transpose", [y], { perm: [2, 0, 1, 3] });
  return file.add("Reshape", [turned, file.ints(1, -1, width)]);
};

const CASES: Readonly<Record<string, Case>> = {
  "attention without heads, a layer behind it, a tag for each position": {
    inputs: [FRAMES],
    write(file) {
      const mixed = attend(file, file.add("Relu", [file.linear("x", 8, 8)]));
      const [y] = layer(file, inTime(file, mixed), 8);
      file.add("Softmax", [file.linear(inBatch(file, y, 5), 5, 3)], {
        axis: -1,
      }, "tags");
      file.add("Identity", [mixed], undefined, "mixed");
    },
    cells: ["ragged", "step", "position"],
  },
  "the operator Attention, two heads of queries for one of keys, causal": {
    inputs: [FRAMES],
    opset: 23,
    write(file) {
      const q = file.linear("x", 8, 8);
      const [k, v] = [0, 1].map(() => file.linear("x", 8, 4));
      file.add("Attention", [q, k, v], {
        q_num_heads: 2,
        kv_num_heads: 1,
        is_causal: 1,
      }, "mixed");
    },
    cells: ["ragged"],
  },
  "the operator Attention with heads of their own and a mask": {
    inputs: [
      FRAMES,
      { name: "mask", type: "bool", dims: [1, "n"] },
    ],
    opset: 23,
    write(file) {
      const [q, k, v] = [0, 1, 2].map(() => {
        const rows = file.add("Reshape", [
          file.linear("x", 8, 8),
          file.ints(0, 0, 2, 4),
        ]);
        return file.add("Transpose", [rows], { perm: [0, 2, 1, 3] });
      });
      const wide = file.add("Unsqueeze", ["mask", file.ints(1, 2)]);
      const mixed = file.add("Attention", [q, k, v, wide], {
        scale: { float: 0.7 },
      });
      file.add("Transpose", [mixed], { perm: [0, 2, 1, 3] }, "mixed");
    },
    cells: ["ragged"],
  },
  "positions counted from what is no padding": {
    inputs: [{ name: "ids", type: "int64", dims: [1, "n"] }],
    words: 7,
    write(file) {
      const isWord = file.add("Cast", [
        file.add("Not", [file.add("Equal", ["ids", file.int(99)])]),
      ], { to: 7 });
      const places = file.add("Add", [
        file.add("Mul", [
          file.add("CumSum", [isWord, file.int(1)]),
          isWord,
        ]),
        file.int(1),
      ]);
      const words = file.add("Gather", [file.weight(7, 8), "ids"]);
      const place = file.add("Gather", [file.weight(12, 8), places]);
      const x = file.add("Add", [words, place]);
      file.add("Identity", [attend(file, x)], undefined, "mixed");
    },
    cells: ["ragged"],
  },
  "a table of positions that begins behind others": {
    inputs: [FRAMES],
    write(file) {
      const table = file.weight(1, 14, 8);
      const length = file.size("x", 1);
      const end = file.add("Add", [length, file.int(2)]);
      const places = file.add("Slice", [
        table,
        file.ints(2),
        file.add("Unsqueeze", [end, file.ints(0)]),
        file.ints(1),
      ]);
      const x = file.add("Add", ["x", places]);
      file.add("Identity", [attend(file, x)], undefined, "mixed");
    },
    cells: ["ragged"],
  },
  "a speaker beside all frames, and what is made of the last one": {
    inputs: [FRAMES, { name: "speaker", dims: [1, 3] }],
    write(file) {
      const wide = file.add("Unsqueeze", [
        file.add("Mul", ["speaker", file.float(2)]),
        file.ints(1),
      ]);
      const to = file.shape(1, file.size("x", 1), 3);
      const both = file.add("Concat", ["x", file.add("Expand", [wide, to])], {
        axis: 2,
      });
      const rows = file.add("Tanh", [file.linear(both, 11, 6)]);
      const last = file.add("Slice", [
        rows,
        file.ints(-1),
        file.ints(2 ** 40),
        file.ints(1),
      ]);
      file.add("Identity", [rows], undefined, "rows");
      file.add("Identity", [file.linear(last, 6, 2)], undefined, "last");
    },
    cells: ["ragged", "request"],
  },
  "states that are brought, both ways, and handed on": {
    inputs: [
      { name: "f", dims: ["n", 1, 4] },
      { name: "h", dims: [2, 1, 5] },
      { name: "c", dims: [2, 1, 5] },
    ],
    write(file) {
      const [y, h, c] = layer(file, "f", 4, {
        ...{ op: "LSTM", direction: "bidirectional", states: ["h", "c"] },
      });
      const turned = file.add("Transpose", [y], { perm: [0, 2, 1, 3] });
      const rows = file.add("Reshape", [turned, file.ints(0, 0, -1)]);
      const [, h2] = layer(file, rows, 10, {
        ...{ op: "LSTM", direction: "bidirectional", states: [h, c] },
      });
      file.add("Identity", [y], undefined, "states");
      file.add("Identity", [h2], undefined, "last");
    },
    cells: ["step", "step", "position", "step", "step", "request"],
  },
  "states that are computed of the request, and a state beside all positions": {
    inputs: [FRAMES, { name: "z", dims: [1, 3] }],
    write(file) {
      const h = file.add("Reshape", [
        file.linear("z", 3, 10),
        file.ints(2, 1, 5),
      ]);
      const [y, last] = layer(file, inTime(file, "x"), 8, {
        ...{ direction: "bidirectional", states: [h] },
      });
      const rows = inBatch(file, y, 10);
      const state = file.add("Reshape", [last, file.ints(1, 1, 10)]);
      const [z] = layer(file, inTime(file, file.add("Mul", [rows, state])), 10);
      file.add("Identity", [inBatch(file, z, 5)], undefined, "y");
      file.add("ReduceSum", ["y", file.ints(1)], { keepdims: 0 }, "sum");
    },
    cells: [
      ...["request", "step", "step", "position", "request"] as const,
      ...["position", "step", "position", "step", "request"] as const,
    ],
  },
  "a branch for each request, of what is around it": {
    inputs: [FRAMES, { name: "z", dims: [1, 1, 8] }],
    write(file) {
      const z = file.add("Tanh", ["z"]);
      const rows = file.linear("x", 8, 8);
      const mean = file.add("ReduceMean", [rows], { axes: [1] });
      const first = file.add("Slice", [
        ...[mean, file.ints(0), file.ints(1), file.ints(2)],
      ]);
      const number = file.add("Reshape", [first, file.ints(1)]);
      file.add("If", [file.add("Less", [number, file.float(0)])], {
        then_branch: {
          graph: {
            outputs: [{ name: "sum" }],
            nodes: [node("Add", [mean, z], ["sum"])],
          },
        },
        else_branch: {
          graph: {
            outputs: [{ name: "negative" }],
            nodes: [node("Neg", [z], ["negative"])],
          },
        },
      }, "chosen");
      file.add("Mul", [rows, "chosen"], undefined, "y");
    },
    cells: ["ragged", "request", "step", "request", "position"],
  },
};

function load({ inputs, write, opset = 17 }: Case): OnnxModel {
  const file = new Writer(new Prng(SEED));
  write(file);
  const outputs = file.nodes.flatMap(({ outputs }) => outputs).filter((name) =>
    !/^[a-z]+_\d+$| of /.test(name)
  );
  return file.read(inputs, outputs, opset);
}

function drawn({ inputs, words }: Case, length: number, prng: Prng) {
  const writer = new Writer(prng);
  return new Map(inputs.map(({ name, type = "float32", dims }) => {
    const sizes = dims!.map((dim) => dim === "n" ? length : Number(dim));
    const tensor: PlainTensor = type === "bool"
      ? {
        type,
        dims: sizes,
        data: new Uint8Array(length).fill(1),
      }
      : writer.drawn(type as "float32" | "int64", sizes, words);
    return [name, tensor];
  }));
}

for (const [what, made] of Object.entries(CASES)) {
  Deno.test(`a free axis: ${what}`, async () => {
    const file = load(made);
    const model = onnxModel(file, {
      name: "mixed",
      cells: "model",
      sizesMax: { n: LENGTH_MAX },
    });
    assert.deepEqual(
      model.cells.map(({ tokensMax, recurrent, phase }) =>
        tokensMax !== undefined
          ? "ragged"
          : recurrent
          ? "step"
          : phase === "encoder"
          ? "position"
          : "request"
      ),
      made.cells,
    );
    const prng = new Prng(SEED);
    const requests = [4, 1, LENGTH_MAX, 2, 6, 4].map((length) =>
      drawn(made, length, prng)
    );
    for (const request of requests) near(model, file, request, what);
    const inputs = requests.map(given);
    const alone = inputs.map((input) => runRequests(model, [input])[0]);
    for (const name of ["cellular", "graph", "dvabatch"]) {
      const policy = () =>
        POLICIES[name].build(
          name === "dvabatch"
            ? { batchSizeMax: 4, stages: 2 }
            : { batchSizeMax: 4 },
        );
      assert.deepStrictEqual(
        runRequests(model, inputs, { policy: policy(), workers: 2 }),
        alone,
        name,
      );
      await using engine = await ServingEngine.create({
        models: [model],
        policy: policy(),
        workers: 2,
      });
      const threads = await Promise.all(
        inputs.map((input) => ask(engine, model, input)),
      );
      assert.deepStrictEqual(threads, alone, `${name}, in threads`);
    }
  });
}
