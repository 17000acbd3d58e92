/** Steps of LSTM and GRU that exporters write in parts: recognised in any order of gates, or left alone. */
import assert from "node:assert/strict";
import { loadOnnx } from "../../src/onnx/load.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { modelFolder } from "./reference_models.ts";
import { drawn, given } from "./step_cases.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

const WIDE = 5;
const HIDDEN = 3;
const one = plainOf("float32", [], [1]);

/** Both products and their biases as one sum. */
const summed: readonly WrittenNode[] = [
  node("MatMul", ["x", "w"], ["xw"]),
  node("MatMul", ["h", "r"], ["hr"]),
  node("Add", ["xw", "hr"], ["xh"]),
  node("Add", ["b", "xh"], ["z"]),
];

/** The same by Gemm. */
const byGemm: readonly WrittenNode[] = [
  node("Gemm", ["x", "wt", "b"], ["xw"], { transB: 1 }),
  node("Gemm", ["h", "rt", "b2"], ["hr"], { transB: 1 }),
  node("Add", ["xw", "hr"], ["z"]),
];

/** @param order of the gates, such as "ifgo" */
const lstm = (
  order: string,
  sum: readonly WrittenNode[] = summed,
  ...others: readonly WrittenNode[]
): WrittenNode[] => [
  ...sum,
  node("Split", ["z"], [...order].map((gate) => `${gate}0`), {
    axis: -1,
    num_outputs: order.length,
  }),
  ...others,
  node("Sigmoid", [others.length > 0 ? "f9" : "f0"], ["f"]),
  node("Sigmoid", ["i0"], ["i"]),
  node("Sigmoid", ["o0"], ["o"]),
  node("Tanh", ["g0"], ["g"]),
  node("Mul", ["f", "c"], ["fc"]),
  node("Mul", ["g", "i"], ["ig"]),
  node("Add", ["fc", "ig"], ["c1"]),
  node("Tanh", ["c1"], ["ct"]),
  node("Mul", ["o", "ct"], ["h1"]),
];

/** @param last how the state is made of z, n and h */
const gru = (last: readonly WrittenNode[]): WrittenNode[] => [
  node("Gemm", ["x", "wt", "b"], ["xw"], { transB: 1 }),
  node("MatMul", ["h", "r"], ["hr0"]),
  node("Add", ["hr0", "b2"], ["hr"]),
  node("Split", ["xw"], ["xr", "xz", "xn"], { axis: 1, num_outputs: 3 }),
  node("Split", ["hr"], ["hr1", "hz", "hn"], { axis: -1, num_outputs: 3 }),
  node("Add", ["xr", "hr1"], ["r0"]),
  node("Sigmoid", ["r0"], ["reset"]),
  node("Add", ["hz", "xz"], ["z0"]),
  node("Sigmoid", ["z0"], ["z"]),
  node("Mul", ["reset", "hn"], ["rn"]),
  node("Add", ["xn", "rn"], ["n0"]),
  node("Tanh", ["n0"], ["n"]),
  ...last,
];

const blended = [
  node("Sub", ["one", "z"], ["kept"]),
  node("Mul", ["kept", "n"], ["fresh"]),
  node("Mul", ["z", "h"], ["old"]),
  node("Add", ["fresh", "old"], ["h1"]),
];

interface Case {
  nodes: readonly WrittenNode[];
  outputs?: readonly string[];
  gates?: number;
  /** The step that it is recognised as. */
  step?: "LSTM" | "GRU";
}

const CASES: Readonly<Record<string, Case>> = {
  "LSTM, gates i f g o, one sum": { nodes: lstm("ifgo"), step: "LSTM" },
  "LSTM, gates o i g f, by Gemm": { nodes: lstm("oigf", byGemm), step: "LSTM" },
  "LSTM, a number added to the forget gate": {
    nodes: lstm("igfo", summed, node("Add", ["f0", "one"], ["f9"])),
    step: "LSTM",
  },
  "no LSTM: somebody reads a gate": {
    nodes: [...lstm("ifgo"), node("Neg", ["o"], ["y"])],
    outputs: ["h1", "c1", "y"],
  },
  "no LSTM: a gate twice": {
    nodes: lstm("ifgo").map((each) =>
      each.outputs[0] === "o" ? node("Sigmoid", ["i0"], ["o"]) : each
    ),
  },
  "no LSTM: the new state is not squashed": {
    nodes: lstm("ifgo").map((each) =>
      each.outputs[0] === "ct" ? node("Sigmoid", ["c1"], ["ct"]) : each
    ),
  },
  "no LSTM: weights that a request brings": {
    nodes: [
      node("Mul", ["r", "x0"], ["brought"]),
      ...lstm("ifgo").map((each) =>
        each.outputs[0] === "hr"
          ? node("MatMul", ["h", "brought"], ["hr"])
          : each
      ),
    ],
  },
  "GRU, a blend": {
    nodes: gru(blended),
    outputs: ["h1"],
    gates: 3,
    step: "GRU",
  },
  "GRU, a step towards the candidate": {
    nodes: gru([
      node("Sub", ["h", "n"], ["d"]),
      node("Mul", ["z", "d"], ["zd"]),
      node("Add", ["n", "zd"], ["h1"]),
    ]),
    outputs: ["h1"],
    gates: 3,
    step: "GRU",
  },
  "no GRU: the blend the other way round": {
    nodes: gru([
      node("Sub", ["one", "z"], ["kept"]),
      node("Mul", ["z", "n"], ["fresh"]),
      node("Mul", ["kept", "h"], ["old"]),
      node("Add", ["fresh", "old"], ["h1"]),
    ]),
    outputs: ["h1"],
    gates: 3,
  },
  "no GRU: another state is kept": {
    nodes: gru([
      node("Neg", ["h"], ["other"]),
      node("Sub", ["one", "z"], ["kept"]),
      node("Mul", ["kept", "n"], ["fresh"]),
      node("Mul", ["z", "other"], ["old"]),
      node("Add", ["fresh", "old"], ["h1"]),
    ]),
    outputs: ["h1"],
    gates: 3,
  },
};

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`steps in parts: ${name}`, () => {
    const { nodes, outputs = ["h1", "c1"], gates = 4 } = made;
    const rows = gates * HIDDEN;
    const file = readModel(writeModel({
      graph: {
        inputs: [
          { name: "x", dims: [1, WIDE] },
          { name: "h", dims: [1, HIDDEN] },
          { name: "c", dims: [1, HIDDEN] },
          { name: "x0", dims: [1, 1] },
        ],
        outputs: outputs.map((name) => ({ name })),
        initializers: {
          w: drawn(WIDE, rows),
          wt: drawn(rows, WIDE),
          r: drawn(HIDDEN, rows),
          rt: drawn(rows, HIDDEN),
          b: drawn(rows),
          b2: drawn(rows),
          one,
        },
        nodes,
      },
    }));
    const model = onnxModel(file, { cells: "model" });
    const steps = model.cells.flatMap(({ operators }) =>
      operators.map(({ op }) => op).filter((op) =>
        op === "LSTM" || op === "GRU"
      )
    );
    assert.deepEqual(steps, made.step ? [made.step] : []);
    const requests = Array.from({ length: 4 }, () =>
      new Map([
        ["x", drawn(1, WIDE)],
        ["h", drawn(1, HIDDEN)],
        ["c", drawn(1, HIDDEN)],
        ["x0", drawn(1, 1)],
      ]));
    const alone = requests.map((request) =>
      runRequests(model, [given(request)])[0]
    );
    assert.deepStrictEqual(runRequests(model, requests.map(given)), alone);
    requests.forEach((request, i) => {
      for (const [output, wanted] of runPlainGraph(file.graph, request)) {
        const got = alone[i][output];
        assert.deepEqual(got.shape, wanted.dims);
        got.data.forEach((value, at) =>
          assert(
            Math.abs(Number(value) - Number(wanted.data[at])) <= 2e-6,
            `${output}[${at}] is ${value}, expected ${wanted.data[at]}`,
          )
        );
      }
    });
  });
}

for (const name of ["dtln-model-1", "dtln-model-2"]) {
  Deno.test(`both layers of ${name} are recognised as steps`, async () => {
    const folder = modelFolder("a model with steps in parts", name);
    if (folder === undefined) return;
    const model = await loadOnnx(new URL("model.onnx", folder));
    const steps = model.cells.flatMap(({ operators }) =>
      operators.filter(({ op }) => op === "LSTM")
    );
    assert.equal(steps.length, 2);
  });
}
