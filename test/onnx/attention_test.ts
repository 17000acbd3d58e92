/** Attention of a known length, in parts or ONNX's operator, on kernels: beside the plain graph, the same bits in every batch. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { runRequests } from "../run_requests.ts";
import { given, near } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";

const SEED = 5;

/** Queries of 6 positions, keys and values of 9, of 8 numbers each. */
const INPUTS = [
  { name: "x", dims: [1, 6, 8] },
  { name: "z", dims: [1, 9, 8] },
];

interface Case {
  write(file: Writer): string;
  opset?: number;
  /** Operators of the attention. */
  operators: readonly string[];
}

const heads = (file: Writer, x: string, perm: readonly number[]) =>
  file.add("Transpose", [
    file.add("Reshape", [file.linear(x, 8, 8), file.ints(0, 0, 2, 4)]),
  ], { perm });

const CASES: Readonly<Record<string, Case>> = {
  "two heads, the scale behind": {
    write(file) {
      const scores = file.add("MatMul", [
        heads(file, "x", [0, 2, 1, 3]),
        heads(file, "z", [0, 2, 3, 1]),
      ]);
      const weights = file.add("Softmax", [
        file.add("Div", [scores, file.float(1.7)]),
      ], { axis: -1 });
      return file.add("MatMul", [weights, heads(file, "z", [0, 2, 1, 3])]);
    },
    operators: ["RowAttention"],
  },
  "no heads, a factor in front": {
    write(file) {
      const keys = file.add("Transpose", [file.linear("z", 8, 8)], {
        perm: [0, 2, 1],
      });
      const scores = file.add("Mul", [
        file.float(0.4),
        file.add("MatMul", [file.linear("x", 8, 8), keys]),
      ]);
      const weights = file.add("Softmax", [scores], { axis: 2 });
      return file.add("MatMul", [weights, file.linear("z", 8, 8)]);
    },
    operators: ["RowAttention"],
  },
  "in parts where somebody wants what lies between": {
    write(file) {
      const keys = file.add("Transpose", [file.linear("z", 8, 8)], {
        perm: [0, 2, 1],
      });
      const scores = file.add("MatMul", [file.linear("x", 8, 8), keys]);
      const weights = file.add("Softmax", [scores], { axis: 2 }, "weights");
      return file.add("MatMul", [weights, file.linear("z", 8, 8)]);
    },
    operators: ["MatMul", "Softmax", "MatMul"],
  },
  "over queries, which is none": {
    write(file) {
      const keys = file.add("Transpose", [file.linear("z", 8, 8)], {
        perm: [0, 2, 1],
      });
      const scores = file.add("MatMul", [file.linear("x", 8, 8), keys]);
      const weights = file.add("Softmax", [scores], { axis: 1 });
      return file.add("MatMul", [weights, file.linear("z", 8, 8)]);
    },
    operators: ["MatMul", "Softmax", "MatMul"],
  },
  "the operator, four heads of queries for two of keys": {
    opset: 23,
    write: (file) =>
      file.add("Attention", [
        file.linear("x", 8, 8),
        file.linear("z", 8, 4),
        file.linear("z", 8, 4),
      ], { q_num_heads: 4, kv_num_heads: 2 }),
    operators: ["RowAttention"],
  },
  "the operator with axes of heads, causal": {
    opset: 23,
    write: (file) =>
      file.add(
        "Attention",
        [0, 1, 2].map(() => heads(file, "x", [0, 2, 1, 3])),
        { is_causal: 1, scale: { float: 0.9 } },
      ),
    operators: ["RowAttention"],
  },
};

for (const [what, { write, opset = 17, operators }] of Object.entries(CASES)) {
  Deno.test(`attention of a known length: ${what}`, () => {
    const file = new Writer(new Prng(SEED));
    file.add("Identity", [write(file)], undefined, "y");
    const wanted = file.nodes.some(({ outputs }) => outputs[0] === "weights");
    const read = new Set(file.nodes.flatMap(({ inputs }) => inputs));
    const inputs = INPUTS.filter(({ name }) => read.has(name));
    const loaded = file.read(
      inputs,
      ["y", ...wanted ? ["weights"] : []],
      opset,
    );
    const model = onnxModel(loaded, { cells: "model" });
    const found = model.cells.flatMap(({ operators }) =>
      operators.map(({ op }) => op)
    );
    assert.deepEqual(
      found.filter((op) =>
        ["RowAttention", "MatMul", "Softmax", "Plain"].includes(op)
      ),
      operators,
    );
    const requests = Array.from({ length: 5 }, () =>
      new Map(
        inputs.map(({ name, dims }) => [name, file.drawn("float32", dims)]),
      ));
    for (const request of requests) near(model, loaded, request, what);
    const alone = requests.map((request) =>
      runRequests(model, [given(request)])[0]
    );
    for (const name of ["cellular", "graph"]) {
      const policy = POLICIES[name].build({ batchSizeMax: 4 });
      assert.deepStrictEqual(
        runRequests(model, requests.map(given), { policy, workers: 2 }),
        alone,
        name,
      );
    }
  });
}
