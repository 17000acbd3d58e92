/** What changed models have found (fuzz_test.ts), and odd options: each is loaded or refused with a word. */
import assert from "node:assert/strict";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import {
  decoderModel,
  type DecoderModelOptions,
} from "../../src/onnx/decoder/decoder_model.ts";
import type { DecoderOptions } from "../../src/onnx/decoder/options.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { runRequests } from "../run_requests.ts";
import type { TinyDecoder } from "./decoder_attention.ts";
import { tinyDecoder } from "./decoder_files.ts";
import { loaded } from "./loaded.ts";
import { node, writeModel, type WrittenGraph } from "./write_model.ts";

const X = { name: "x", dims: [2, 3] };

/** An If of which one branch has a node with an input more than its operator; the other fits. */
function branchOfTooMany(bad: string): Partial<WrittenGraph> {
  const branch = (name: string) => ({
    graph: {
      outputs: [{ name: `${name} y` }],
      nodes: [
        name === bad
          ? node("Gather", ["x", "i", "x"], [`${name} y`])
          : node("Relu", ["x"], [`${name} y`]),
      ],
    },
  });
  return {
    inputs: [X, { name: "c", type: "bool", dims: [1] }],
    initializers: { i: plainOf("int64", [1], [0]) },
    nodes: [
      node("If", ["c"], ["y"], {
        then_branch: branch("then_branch"),
        else_branch: branch("else_branch"),
      }),
    ],
  };
}

const FOUND: Record<
  string,
  [Partial<WrittenGraph>, ReturnType<typeof loaded>]
> = {
  "a flag of another number than 1": [
    { nodes: [node("ArgMin", ["x"], ["y"], { axis: 1, keepdims: 7 })] },
    "run",
  ],
  "more inputs than the operator has": [
    { nodes: [node("Less", ["x", "x", "x"], ["y"])] },
    "refused",
  ],
  "more inputs than the operator has, in the branch that is taken": [
    branchOfTooMany("else_branch"),
    "refused",
  ],
  "more inputs than the operator has, in the other branch": [
    branchOfTooMany("then_branch"),
    "refused",
  ],
  "no inputs": [{ nodes: [node("Equal", [], ["y"])] }, "refused"],
  "sizes of which nothing is known": [
    {
      nodes: [
        { ...node("Unknown", ["x"], ["s"]), domain: "own" },
        node("ConstantOfShape", ["s"], ["y"]),
      ],
    },
    "loaded",
  ],
  "an average of windows behind the image, of which one is left out": [
    {
      inputs: [{ name: "x", dims: [1, 1, 2, 2] }],
      nodes: [
        node("AveragePool", ["x"], ["y"], {
          ...{ ceil_mode: 1, kernel_shape: [3, 3], strides: [3, 3] },
          pads: [1, 1, 8, 1],
        }),
      ],
    },
    "run",
  ],
  "an If without a branch": [
    {
      initializers: { yes: plainOf("bool", [], [1]) },
      nodes: [node("If", ["yes"], ["y"])],
    },
    "refused",
  ],
};

for (const [what, [graph, expected]] of Object.entries(FOUND)) {
  Deno.test(`a model with ${what} is ${expected}`, () => {
    const file = writeModel({
      graph: { inputs: [X], outputs: [{ name: "y" }], nodes: [], ...graph },
      opsets: { "": 20, own: 1 },
    });
    assert.equal(loaded(file), expected);
  });
}

const IMAGE = { name: "x", dims: [1, 4, 3] };
const numbers = (count: number) =>
  plainOf("float32", [count], new Array(count).fill(1));

/** Constants of a node that kernels would compute, and what a request is told of them. */
const MISFITS: Readonly<Record<string, [Partial<WrittenGraph>, RegExp]>> = {
  "a bound of several elements": [
    {
      initializers: { low: numbers(3) },
      nodes: [node("Clip", ["x", "low"], ["y"])],
    },
    /expected one element/,
  ],
  "a bound of another type": [
    {
      initializers: { low: plainOf("int64", [], [0]) },
      nodes: [node("Clip", ["x", "low"], ["y"])],
    },
    /is int64, expected float32/,
  ],
  "a scale for fewer channels": [
    {
      inputs: [IMAGE],
      initializers: { s: numbers(2), b: numbers(4) },
      nodes: [node("InstanceNormalization", ["x", "s", "b"], ["y"])],
    },
    /refused its inputs/,
  ],
  "groups that leave channels over": [
    {
      inputs: [IMAGE],
      initializers: { s: numbers(3), b: numbers(3) },
      nodes: [
        node("GroupNormalization", ["x", "s", "b"], ["y"], { num_groups: 3 }),
      ],
    },
    /refused its inputs/,
  ],
  "both scales and sizes": [
    {
      inputs: [{ name: "x", dims: [1, 1, 2, 2] }],
      initializers: {
        scales: plainOf("float32", [4], [1, 1, 2, 2]),
        sizes: plainOf("int64", [4], [1, 1, 7, 7]),
      },
      nodes: [node("Resize", ["x", "", "scales", "sizes"], ["y"])],
    },
    /refused its inputs/,
  ],
};

for (const [what, [graph, expected]] of Object.entries(MISFITS)) {
  Deno.test(`a request to a model with ${what} is refused`, () => {
    const model = onnxModel(readModel(writeModel({
      graph: { inputs: [X], outputs: [{ name: "y" }], nodes: [], ...graph },
    })));
    const [{ shape }] = model.inputs;
    const x = new Float32Array(shape.reduce((a, b) => a * b));
    assert.throws(() => runRequests(model, [{ x }]), expected);
  });
}

const VECTOR = { name: "x", dims: [1, 2] };

/** What was asked for in a way that does not fit, and what the refusal says. */
const ASKED: Readonly<Record<string, [() => unknown, RegExp]>> = {
  "an input without a type": [
    () => onnxModel(withoutType()),
    /input "x": the file does not say the type/,
  ],
  "a weight that is no scale": [
    () => onnxModel(badScale()),
    /node "DequantizeLinear:y" \(DequantizeLinear\): .*x_scale.* is int8, expected float32/,
  ],
  "a state that is nothing": [
    () => onnxModel(step(), { states: { h: null as never } }),
    /State "h" is the name of an output, or \{ from, initial \}, got null/,
  ],
  "a state without an output": [
    () => onnxModel(step(), { states: { h: {} as never } }),
    /State "h" is the name of an output/,
  ],
  "a decoder's state that is nothing": [
    () => decoder({ states: { "past_key_values.0.key": null as never } }),
    /State "past_key_values.0.key" is the name of an output/,
  ],
  "a token that is the position": [
    () => decoder({ position: "input_ids" }),
    /input "input_ids": it is the token, the mask, the position or a state/,
  ],
  "more positions than memory has": [
    () => decoder({ positionsMax: 1e9 }),
    /"positionsMax" is an integer from 1 to 1048576, got 1000000000/,
  ],
  "a table larger than any result": [
    () => decoder({ positionsMax: 2 ** 20 }, { size: 2 ** 10 }),
    /a table of .* for 1048576 positions has \d+ elements, and 268435456 are the most/,
  ],
  "no token that may follow": [
    () => decoder({ banned: [0, 1, 2, 3, 4] }),
    /All 5 tokens of "m.onnx" are banned/,
  ],
  "a decoder whose scores read nothing of earlier steps": [
    () => {
      const { graph, ...file } = readModel(tinyDecoder(TINY_DECODER), {
        label: "m.onnx",
      });
      const { outputs: [embedding] } = graph.nodes.find(({ inputs }) =>
        inputs.includes("input_ids")
      )!;
      const nodes = graph.nodes.map((node) =>
        node.outputs[0] === "logits"
          ? { ...node, inputs: [embedding, node.inputs[1]] }
          : node
      );
      return decoderModel({ ...file, graph: { ...graph, nodes } }, {
        decoder: {},
      });
    },
    /output "logits": scores depend on one token alone/,
  ],
  "a decoder of a free size": [
    () => decoder({}, {}, { sizesMax: { sequence_length: 4 } }),
    /size "sequence_length": a decoder takes a token in every step/,
  ],
  "an operator that refuses what is computed on the way": [
    () =>
      onnxModel(
        readModel(writeModel({
          graph: {
            inputs: [{ name: "x", dims: [1, "n"] }],
            outputs: [{ name: "y" }],
            nodes: [
              { ...node("Cast", ["x"], ["c"]), name: "cast" },
              node("CumSum", ["c", "axis"], ["y"]),
            ],
            initializers: { axis: plainOf("int64", [], [1]) },
          },
        })),
        { sizesMax: { n: 4 } },
      ),
    /node "cast"/,
  ],
  "rows of positions that are no words": [
    () =>
      onnxModel(
        readModel(writeModel({
          graph: {
            inputs: [{ name: "x", type: "bool", dims: [1, "n", 6] }],
            outputs: [{ name: "y" }],
            nodes: [node("Not", ["x"], ["y"])],
          },
        })),
        { sizesMax: { n: 4 } },
      ),
    /of a position are 6 bytes, rows of positions whole numbers of 4; give the size of the axis, sizes: /,
  ],
  "an output of no elements": [
    () =>
      onnxModel(readModel(writeModel({
        graph: {
          inputs: [X],
          outputs: [{ name: "y" }, { name: "z" }],
          nodes: [node("Relu", ["x"], ["y"]), node("Identity", ["e"], ["z"])],
          initializers: { e: plainOf("float32", [0], []) },
        },
      }))),
    /output "z": it has no elements: its sizes are 0/,
  ],
  "a free size that shapes fix": [
    () => onnxModel(freeFile(), { sizesMax: { n: 4 }, shapes: { x: [1, 3] } }),
    /size "n": it is free, and shapes say what it is/,
  ],
};

for (const [what, [ask, expected]] of Object.entries(ASKED)) {
  Deno.test(`${what} is refused with a word`, () => {
    assert.throws(ask, expected);
  });
}

Deno.test("a cache that nobody looks at is filled all the same, behind tables of bytes, too", () => {
  const sizes = { apart: true, mask: "operator" } as const;
  for (const bytes of [false, true]) {
    const model = decoder({ positionsMax: 4 }, { ...sizes, bytes });
    const caches = model.cells.flatMap(({ caches }) => caches);
    assert(caches.length > 0 && caches.every(({ appends }) => appends));
    const [made] = runRequests(model, [{ tokens: [0, 1], maxSteps: 2 }]);
    assert.equal(made.tokens.data.length, 2);
  }
});

const TINY_DECODER: TinyDecoder = {
  ...{ shared: "no", mask: "none", scale: "scores", positions: "rotary" },
  ...{ layers: 1, heads: 2, size: 2, vocabulary: 5, seed: 1 },
};

function decoder(
  options: DecoderOptions,
  sizes: Partial<TinyDecoder> = {},
  given: Omit<DecoderModelOptions, "decoder"> = {},
) {
  const file = tinyDecoder({ ...TINY_DECODER, ...sizes });
  return decoderModel(readModel(file, { label: "m.onnx" }), {
    decoder: options,
    ...given,
  });
}

/** h1 = x + h. */
function step(): OnnxModel {
  return readModel(writeModel({
    graph: {
      inputs: [VECTOR, { ...VECTOR, name: "h" }],
      outputs: [{ name: "h1" }],
      nodes: [node("Add", ["x", "h"], ["h1"])],
    },
  }));
}

function freeFile(): OnnxModel {
  return readModel(writeModel({
    graph: {
      inputs: [{ name: "x", dims: [1, "n"] }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  }));
}

function withoutType(): OnnxModel {
  const { graph, ...file } = freeFile();
  const inputs = graph.inputs.map((input) => ({ ...input, type: null }));
  return { ...file, graph: { ...graph, inputs } };
}

function badScale(): OnnxModel {
  const bytes = plainOf("int8", [2], [1, 2]);
  return readModel(writeModel({
    graph: {
      inputs: [VECTOR],
      outputs: [{ name: "z" }],
      initializers: { bytes, scale: plainOf("int8", [], [1]) },
      nodes: [
        node("DequantizeLinear", ["bytes", "scale"], ["y"]),
        node("Add", ["x", "y"], ["z"]),
      ],
    },
  }));
}
