/**
 * Loop and Scan of ONNX files as cells of one round: beside the plain operators, the same bits alone and in mixed
 * batches under every policy; what is no such step runs as a whole, in plain TypeScript.
 */
import assert from "node:assert/strict";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { scalarOf } from "../../src/tensor/plain_tensor.ts";
import { endings, runRequests } from "../run_requests.ts";
import {
  BATCHING,
  type Case,
  checkCase,
  drawn,
  given,
  load,
  requestsTo,
} from "./step_cases.ts";
import {
  node,
  writeModel,
  type WrittenGraph,
  type WrittenNode,
} from "./write_model.ts";

/** Inputs that every body of a Loop begins with. */
const ROUND = [
  { name: "i", type: "int64", dims: [] },
  { name: "go", type: "bool", dims: [] },
] as const;

const loop = (
  inputs: readonly string[],
  outputs: readonly string[],
  body: WrittenGraph,
): WrittenNode =>
  node("Loop", ["trips", "yes", ...inputs], outputs, { body: { graph: body } });

const scan = (
  inputs: readonly string[],
  outputs: readonly string[],
  body: WrittenGraph,
  attributes: WrittenNode["attributes"] = {},
): WrittenNode =>
  node("Scan", inputs, outputs, { body: { graph: body }, ...attributes });

/** h1 = tanh(x w + h r). */
const rnn = (x: string, h: string, h1: string): WrittenNode[] => [
  node("MatMul", [x, "w"], ["a"]),
  node("MatMul", [h, "r"], ["b"]),
  node("Add", ["a", "b"], ["c"]),
  node("Tanh", ["c"], [h1]),
];

const weights = () => ({ w: drawn(3, 4), r: drawn(4, 4) });
const trips = (count: number) => ({
  trips: scalarOf("int64", count),
  yes: scalarOf("bool", 1),
});

const CASES: Readonly<Record<string, Case>> = {
  "Scan over an input, states of all rounds": {
    inputs: { x: [9, 1, 3], h: [1, 4] },
    weights: weights(),
    nodes: [
      scan(["h", "x"], ["y1", "y0"], {
        inputs: [{ name: "h0" }, { name: "x0" }],
        outputs: [{ name: "h1" }, { name: "s" }],
        nodes: [...rnn("x0", "h0", "h1"), node("Identity", ["h1"], ["s"])],
      }, { num_scan_inputs: 1 }),
    ],
    outputs: ["y0", "y1"],
    cells: ["step", "part"],
  },
  "Scan of other axes and directions, a sum and a count": {
    inputs: { x: [3, 6], z: [6, 2], s: [3] },
    weights: { zero: scalarOf("float32", 0), one: scalarOf("float32", 1) },
    nodes: [
      node("Relu", ["x"], ["x1"]),
      scan(["s", "zero", "x1", "z"], ["y0", "y1", "y2", "y3"], {
        inputs: [{ name: "s0" }, { name: "n0" }, { name: "a" }, { name: "b" }],
        outputs: [{ name: "s1" }, { name: "n1" }, { name: "t" }, { name: "u" }],
        nodes: [
          node("Add", ["s0", "a"], ["s1"]),
          node("Add", ["n0", "one"], ["n1"]),
          node("Mul", ["s1", "n1"], ["t"]),
          node("Exp", ["b"], ["u"]),
        ],
      }, {
        num_scan_inputs: 2,
        scan_input_axes: [-1, 0],
        scan_input_directions: [1, 0],
        scan_output_axes: [1, 0],
        scan_output_directions: [0, 1],
      }),
      node("Neg", ["y3"], ["y4"]),
    ],
    outputs: ["y0", "y1", "y2", "y4"],
    cells: ["part", "step", "part"],
  },
  "two Scans, the second over the states of the first": {
    inputs: { x: [4, 1, 3], h: [1, 4] },
    weights: { ...weights(), w2: drawn(4, 4) },
    nodes: [
      scan(["h", "x"], ["last", "all"], {
        inputs: [{ name: "h0" }, { name: "x0" }],
        outputs: [{ name: "h1" }, { name: "h1" }],
        nodes: rnn("x0", "h0", "h1"),
      }, { num_scan_inputs: 1 }),
      scan(["last", "all"], ["y0", "y1"], {
        inputs: [{ name: "g0" }, { name: "e0" }],
        outputs: [{ name: "g1" }, { name: "f1" }],
        nodes: [
          node("MatMul", ["e0", "w2"], ["p"]),
          node("Add", ["p", "g0"], ["q"]),
          node("Sigmoid", ["q"], ["g1"]),
          node("Add", ["g1", "e0"], ["f1"]),
        ],
      }, { num_scan_inputs: 1 }),
    ],
    outputs: ["y0", "y1"],
    cells: ["step", "step", "part"],
  },
  "Loop that gathers its position, as exporters write it": {
    inputs: { x: [5, 1, 3], h: [1, 4] },
    weights: { ...weights(), ...trips(5) },
    nodes: [
      node("Abs", ["h"], ["k"]),
      loop(["h"], ["y1", "y0"], {
        inputs: [...ROUND, { name: "h0" }],
        outputs: [
          { name: "on", type: "bool" },
          { name: "h2" },
          { name: "out" },
        ],
        nodes: [
          node("Identity", ["go"], ["on"]),
          node("Gather", ["x", "i"], ["x0"], { axis: 0 }),
          ...rnn("x0", "h0", "h1"),
          node("Add", ["h1", "k"], ["h2"]),
          node("Neg", ["h1"], ["out"]),
        ],
      }),
    ],
    outputs: ["y0", "y1"],
    cells: ["part", "step", "part"],
  },
  "Loop over the round's number, a state that stays, one that is replaced": {
    inputs: { x: [2, 3] },
    weights: { ...trips(4), half: scalarOf("float32", 0.5) },
    nodes: [
      loop(["x", "x"], ["y0", "y1", "y2"], {
        inputs: [...ROUND, { name: "u" }, { name: "v" }],
        outputs: [
          { name: "go", type: "bool" },
          { name: "u" },
          { name: "v1" },
          { name: "n" },
        ],
        nodes: [
          node("Cast", ["i"], ["n"], { to: 1 }),
          node("Mul", ["v", "half"], ["v0"]),
          node("Add", ["v0", "n"], ["v1"]),
        ],
      }),
    ],
    outputs: ["y0", "y1", "y2"],
    cells: ["step", "part"],
    plain: ["Cast"],
  },
  "Loop of one round": {
    inputs: { x: [2, 3] },
    weights: trips(1),
    nodes: [
      loop(["x"], ["y0", "y1"], {
        inputs: [...ROUND, { name: "u" }],
        outputs: [{ name: "go", type: "bool" }, { name: "u1" }, { name: "u" }],
        nodes: [node("Exp", ["u"], ["u1"])],
      }),
    ],
    outputs: ["y0", "y1"],
    cells: ["step", "part"],
  },
  "Loop that ends by value": {
    inputs: { x: [1, 3] },
    weights: {
      ...trips(9),
      two: scalarOf("float32", 2),
      hundred: scalarOf("float32", 100),
    },
    nodes: [
      node("Neg", ["x"], ["k"]),
      loop(["x"], ["y0"], {
        inputs: [...ROUND, { name: "u" }],
        outputs: [{ name: "on", type: "bool" }, { name: "u1" }],
        nodes: [
          node("Sub", ["u", "k"], ["u0"]),
          node("Mul", ["u0", "two"], ["u1"]),
          node("ReduceMax", ["u1"], ["most"], { keepdims: 0 }),
          node("Less", ["most", "hundred"], ["on"]),
        ],
      }),
      node("Relu", ["y0"], ["y1"]),
    ],
    outputs: ["y0", "y1"],
    cells: ["part"],
    plain: ["Loop"],
  },
  "If by value": {
    inputs: { x: [1, 3] },
    weights: { zero: scalarOf("float32", 0) },
    nodes: [
      node("Neg", ["x"], ["k"]),
      node("ReduceMax", ["x"], ["most"], { keepdims: 0 }),
      node("Less", ["most", "zero"], ["below"]),
      node("If", ["below"], ["y"], {
        then_branch: {
          graph: { outputs: [{ name: "k" }], nodes: [] },
        },
        else_branch: {
          graph: {
            outputs: [{ name: "e" }],
            nodes: [node("Add", ["x", "k"], ["e"])],
          },
        },
      }),
    ],
    outputs: ["y"],
    cells: ["part", "part", "part"],
    plain: ["Less", "If"],
  },
  "a Scan in a Loop": {
    inputs: { x: [3, 2] },
    weights: trips(3),
    nodes: [
      loop(["x"], ["y"], {
        inputs: [...ROUND, { name: "u" }],
        outputs: [{ name: "go", type: "bool" }, { name: "u1" }],
        nodes: [
          node("ReduceMax", ["u"], ["m"], { keepdims: 0 }),
          scan(["m", "u"], ["", "u1"], {
            inputs: [{ name: "s0" }, { name: "r" }],
            outputs: [{ name: "s0" }, { name: "r1" }],
            nodes: [
              node("Sub", ["r", "s0"], ["r0"]),
              node("Tanh", ["r0"], ["r1"]),
            ],
          }, { num_scan_inputs: 1 }),
        ],
      }),
    ],
    outputs: ["y"],
    cells: ["step", "part"],
    plain: ["Scan"],
  },
};

for (const [name, made] of Object.entries(CASES)) {
  Deno.test(`cut into rounds: ${name}`, () => void checkCase(made));
}

Deno.test("rounds of different requests share a batch", () => {
  const made = CASES["Scan over an input, states of all rounds"];
  const model = onnxModel(load(made), { name: "loop", cells: "layer" });
  const policy = POLICIES.cellular.build(BATCHING.cellular);
  const schedule = policy.schedule.bind(policy);
  let shared = 0;
  policy.schedule = (view) => {
    const decision = schedule(view);
    if (decision.kind !== "launch") return decision;
    for (const { cell, nodes } of decision.launch.steps) {
      const positions = new Set(nodes.map(({ index }) => index));
      if (cell.recurrent && positions.size > 1) shared++;
    }
    return decision;
  };
  runRequests(model, requestsTo(made, 5).map(given), { policy, gapNs: 2500 });
  assert(shared > 0, "no batch has two rounds");
});

Deno.test("a loop that ends by value runs on a worker thread", async () => {
  const made = CASES["Loop that ends by value"];
  const model = onnxModel(load(made));
  const requests = requestsTo(made, 3).map(given);
  const alone = requests.map((request) => runRequests(model, [request])[0]);
  const engine = await ServingEngine.create({
    models: [model],
    policy: POLICIES.cellular.build(BATCHING.cellular),
    workers: 1,
  });
  try {
    const results = await Promise.all(
      requests.map((request) => engine.run(model, request)),
    );
    results.forEach(({ outputs }, i) => {
      for (const [name, { data }] of Object.entries(alone[i])) {
        assert.deepEqual(outputs[name].data, data);
      }
    });
  } finally {
    await engine.close();
  }
});

Deno.test("in one cell, a loop is run as a whole", () => {
  const made = CASES["Scan over an input, states of all rounds"];
  const [request] = requestsTo(made, 1);
  const inSteps = onnxModel(load(made), { cells: "layer" });
  const whole = onnxModel(load(made), { cells: "model" });
  assert.equal(whole.cells.length, 1);
  assert.match(whole.notes.join(), /^Scan runs in plain TypeScript/);
  const [a, b] = [inSteps, whole].map((model) =>
    runRequests(model, [given(request)])[0]
  );
  for (const [name, { data }] of Object.entries(a)) {
    data.forEach((value, i) =>
      assert(Math.abs(Number(value) - Number(b[name].data[i])) <= 1e-6, name)
    );
  }
});

/** A model of a Loop with a body of one node. */
const ofBody = (inner: WrittenNode, weights: Case["weights"] = trips(3)) =>
  readModel(writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, 3] }],
      outputs: [{ name: "y" }],
      initializers: weights,
      nodes: [
        node("Loop", ["trips", "yes", "x"], ["y"], {
          body: {
            graph: {
              inputs: [...ROUND, { name: "u" }],
              outputs: [{ name: "go", type: "bool" }, { name: "u1" }],
              nodes: [inner],
            },
          },
        }),
      ],
    },
  }));

Deno.test("an unknown operator in a loop, and a size that grows, are refused by name", () => {
  for (
    const [inner, why] of [
      [node("Whatever", ["u"], ["u1"]), /Loop.*"Whatever:u1" \(Whatever\)/],
      [
        node("Concat", ["u", "x"], ["u1"], { axis: 0 }),
        /\(Loop\).*depends on values/,
      ],
    ] as const
  ) {
    assert.throws(
      () => onnxModel(ofBody(inner)),
      (error) => error instanceof OnnxError && why.test(error.message),
    );
  }
});

Deno.test("a loop without an end fails its request alone", () => {
  const file = ofBody(node("Relu", ["u"], ["u1"]), {
    trips: scalarOf("int64", 2n ** 62n),
    yes: scalarOf("bool", 1),
  });
  const model = onnxModel(file);
  const [result] = endings(model, [{ x: Float32Array.of(1, 2, 3) }]);
  assert(result instanceof Error, "it ended");
  assert.match(result.message, /operator Loop/);
});
