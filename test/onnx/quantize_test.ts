/** Files whose weights become bytes: what is written, what stays, and what it gives. No data sets are needed. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { quantizeOnnx } from "../../src/onnx/quantize.ts";
import {
  quantizeFile,
  type QuantizeOptions,
} from "../../src/onnx/quantize/quantize_file.ts";
import { byteWeight } from "../../src/onnx/quantize/weight.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount, type TensorData } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import {
  decode,
  encode,
  integer,
  message,
  text,
  type WireMessage,
} from "./wire.ts";
import {
  graphMessage,
  modelMessage,
  node,
  writeModel,
  type WrittenModel,
} from "./write_model.ts";

const prng = new Prng(7);

const floats = (...dims: number[]): PlainTensor<"float32"> =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => prng.float() - 0.5),
  );
const integers = (...values: number[]) =>
  plainOf("int64", [values.length], values);

const NOWHERE = { label: "m.onnx", external: () => undefined };
const quantized = (file: Uint8Array, options: QuantizeOptions = {}) =>
  quantizeFile(file, NOWHERE, options);

/** y of x [1, ...dims], by such nodes. */
function modelOf(
  dims: readonly number[],
  initializers: Record<string, PlainTensor>,
  nodes: WrittenModel["graph"]["nodes"],
  more: Partial<WrittenModel> = {},
): WrittenModel {
  return {
    graph: {
      inputs: [{ name: "x", dims: ["N", ...dims] }],
      outputs: [{ name: "y" }],
      initializers,
      nodes,
    },
    ...more,
  };
}

const isOf = (number: number) => ([one]: readonly [number, unknown]) =>
  one === number;

/** The graph's fields. */
function graphOf(model: WireMessage): WireMessage {
  const [, value] = model.find(isOf(7))!;
  assert("message" in value);
  return value.message;
}

Deno.test("weights: no further than half a step, the largest of each output at the end of the range", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("rows" as const, "columns" as const),
      fc.constantFrom(7 as const, 8 as const),
      fc.constantFrom("int8" as const, "uint8" as const),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer(),
      (outputs, bits, type, n, k, seed) => {
        const prng = new Prng(seed);
        const dims = outputs === "rows" ? [n, k] : [k, n];
        const data = Float32Array.from(
          { length: n * k },
          () => (prng.float() - 0.5) * 10 ** (prng.int(9) - 4),
        );
        const weight = plainTensor("float32", dims, data);
        const { bytes, scales } = byteWeight(weight, outputs, bits, type);
        const zero = type === "int8" ? 0 : 128;
        const most = bits === 8 ? 127 : 63;
        assert.equal(scales.length, n);
        const largest = new Float64Array(n);
        data.forEach((value, i) => {
          const output = outputs === "rows" ? Math.floor(i / k) : i % n;
          const steps = bytes.data[i] - zero;
          const error = Math.abs(value - steps * scales[output]);
          assert(error <= scales[output] * 0.5001, `element ${i}`);
          largest[output] = Math.max(largest[output], Math.abs(steps));
        });
        for (const one of largest) assert.equal(one, most);
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("weights: zeros, and halves to even", () => {
  const { bytes, scales } = byteWeight(
    plainOf("float32", [2, 4], [127, 0.5, 1.5, -2.5, 0, 0, 0, 0]),
    "rows",
    8,
    "int8",
  );
  assert.deepEqual([...bytes.data], [127, 0, 2, -2, 0, 0, 0, 0]);
  assert.deepEqual([...scales], [1, 1]);
});

const MODELS: Record<string, [WrittenModel, ops: string[]]> = {
  "MatMul of any rank": [
    modelOf([3, 8], { w: floats(8, 5) }, [node("MatMul", ["x", "w"], ["y"])]),
    ["MatMulIntegerToFloat"],
  ],
  "MatMul with a sum, its weight a Constant that is reshaped": [
    modelOf([8], { b: floats(5), to: integers(8, 5) }, [
      node("Constant", [], ["v"], { value: { tensor: floats(40) } }),
      node("Reshape", ["v", "to"], ["w"]),
      node("MatMul", ["x", "w"], ["m"]),
      node("Add", ["m", "b"], ["y"]),
    ]),
    ["MatMulIntegerToFloat"],
  ],
  "Gemm with bias, turned": [
    modelOf([8], { w: floats(5, 8), b: floats(5) }, [
      node("Gemm", ["x", "w", "b"], ["y"], { transB: 1 }),
    ]),
    ["MatMulIntegerToFloat"],
  ],
  "Conv in groups, with bias and Relu": [
    modelOf([4, 6, 5], { w: floats(6, 2, 3, 3), b: floats(6) }, [
      node("Conv", ["x", "w", "b"], ["c"], { group: 2, pads: [1, 1, 1, 1] }),
      node("Relu", ["c"], ["y"]),
    ]),
    ["ConvIntegerToFloat"],
  ],
  "Conv of one dimension": [
    modelOf([3, 16], { w: floats(4, 3, 5) }, [
      node("Conv", ["x", "w"], ["y"], { strides: [2], dilations: [2] }),
    ]),
    ["ConvIntegerToFloat"],
  ],
  "two layers of one value and one weight": [
    modelOf([6], { w: floats(6, 6) }, [
      node("MatMul", ["x", "w"], ["a"]),
      node("MatMul", ["a", "w"], ["b"]),
      node("MatMul", ["x", "w"], ["c"]),
      node("Add", ["b", "c"], ["y"]),
    ]),
    ["MatMulIntegerToFloat"],
  ],
};

for (const [name, [written, kernels]] of Object.entries(MODELS)) {
  Deno.test(`a file of bytes is near that of floats, and on kernels has the bits of its plain operators: ${name}`, () => {
    const file = writeModel(written);
    const { bytes, layers, left } = quantized(file);
    assert(layers.length > 0);
    assert.deepEqual(left, []);
    const model = onnxModel(readModel(bytes));
    const operators = model.cells.flatMap(({ operators }) => operators);
    assert(!operators.some(({ op }) => op === "Plain" || op === "Gemm"));
    for (const op of kernels) assert(operators.some((one) => one.op === op));
    const [{ shape }] = model.inputs;
    const requests = Array.from({ length: 3 }, () => floats(...shape));
    const results = runRequests(
      model,
      requests.map(({ data }) => ({ x: data as TensorData })),
    );
    requests.forEach((x, i) => {
      const given = new Map([["x", x]]);
      const of = (file: Uint8Array) =>
        runPlainGraph(readModel(file).graph, given).get("y")!;
      assert.deepEqual([...results[i]["y"].data], [...of(bytes).data]);
      const wanted = of(file).data as Float32Array;
      wanted.forEach((value, at) => {
        assert(Math.abs(Number(results[i]["y"].data[at]) - value) < 0.03);
      });
    });
    // Floats of weights are gone, but those of biases and scales.
    const { graph } = readModel(bytes);
    for (const [name, { type, data }] of graph.initializers) {
      assert(type !== "float32" || data.length <= 6, `${name} is still there`);
    }
    assert(
      graph.nodes.every(({ op }) => op !== "Reshape" && op !== "Constant"),
    );
  });
}

Deno.test("what is not quantised is kept, byte for byte: unknown fields, metadata, other nodes and their texts", () => {
  const written = modelOf([8], { w: floats(8, 5), more: floats(5) }, [
    node("MatMul", ["x", "w"], ["m"]),
    { ...node("Mul", ["m", "more"], ["y"]), name: "scaled" },
  ], {
    metadata: { author: "somebody" },
    opsets: { "": 17, "com.other": 3 },
  });
  const marks = [text(999, "unknown"), integer(998, 12345)];
  const graph = [...graphMessage(written.graph), ...marks];
  const fields = modelMessage(written).map((field) =>
    field[0] === 7 ? message(7, graph) : field
  );
  const file = encode([...fields, ...marks]);
  const { bytes } = quantized(file);
  const [before, after] = [decode(file), decode(bytes)];
  for (const [number] of before) {
    if (number === 7) continue;
    assert.deepEqual(after.filter(isOf(number)), before.filter(isOf(number)));
  }
  const [from, to] = [graphOf(before), graphOf(after)];
  for (const number of [2, 11, 12, 998, 999]) {
    assert.deepEqual(to.filter(isOf(number)), from.filter(isOf(number)));
  }
  // The second node and the second initializer, as they were.
  assert.deepEqual(to.filter(isOf(1)).at(-1), from.filter(isOf(1)).at(-1));
  assert.deepEqual(to.filter(isOf(5))[0], from.filter(isOf(5))[1]);
});

Deno.test("weights that others read, too, in graphs inside nodes as well, stay", () => {
  const branch = {
    outputs: [{ name: "inner" }],
    nodes: [node("Add", ["v", "v"], ["inner"])],
  };
  const { bytes } = quantized(writeModel(modelOf(
    [4],
    {
      w: floats(4, 4),
      v: floats(4, 4),
      u: floats(4, 4),
      on: plainOf("bool", [1], [1]),
    },
    [
      node("MatMul", ["x", "w"], ["a"]),
      node("MatMul", ["a", "v"], ["b"]),
      node("MatMul", ["b", "u"], ["c"]),
      node("ReduceMax", ["w"], ["d"], { keepdims: 0 }),
      node("ReduceMax", ["x"], ["most"], { keepdims: 0 }),
      node("Cast", ["most"], ["if"], { to: 9 }),
      node("If", ["if"], ["e"], {
        then_branch: { graph: branch },
        else_branch: { graph: branch },
      }),
      node("ReduceMax", ["e"], ["f"], { keepdims: 0 }),
      node("Sum", ["c", "d", "f"], ["y"]),
    ],
  )));
  const { initializers } = readModel(bytes).graph;
  assert(initializers.has("w") && initializers.has("v"));
  assert(!initializers.has("u"));
});

Deno.test("names are new ones", () => {
  const { bytes } = quantized(writeModel(modelOf(
    [4],
    { w: floats(4, 4), w_quantized: floats(4) },
    [
      node("MatMul", ["x", "w"], ["y_sums"]),
      node("Add", ["y_sums", "w_quantized"], ["x_scale"]),
      node("Relu", ["x_scale"], ["y"]),
    ],
  )));
  const { graph } = readModel(bytes);
  assert.equal(graph.initializers.get("w_quantized")!.type, "float32");
  assert.equal(graph.initializers.get("w_quantized_2")!.type, "int8");
});

Deno.test("layers that stay, each with its reason", () => {
  const half = {
    fields: [
      ...[integer(1, 4), integer(1, 4), integer(2, 10)],
      ...[[9, { bytes: new Uint8Array(32) }] as const],
    ],
  };
  const { left, layers } = quantized(
    writeModel({
      graph: {
        inputs: [
          { name: "x", dims: ["N", 4] },
          { name: "h", type: "float16", dims: ["N", 4] },
        ],
        outputs: [{ name: "y" }, { name: "z", type: "float16" }],
        initializers: {
          w: floats(4, 4),
          wide: floats(4, 70_000),
          back: floats(70_000, 4),
          half,
          r: floats(1, 16, 4),
        },
        nodes: [
          { ...node("MatMul", ["x", "w"], ["a"]), name: "excluded" },
          node("Gemm", ["a", "w"], ["b"], { alpha: { float: 2 } }),
          node("MatMul", ["b", "b#turned"], ["c"]),
          node("Transpose", ["b"], ["b#turned"]),
          node("MatMul", ["w", "w"], ["d"]),
          node("MatMul", ["d", "b"], ["e"]),
          node("MatMul", ["h", "half"], ["z"]),
          node("MatMul", ["b", "wide"], ["f"]),
          node("MatMul", ["f", "back"], ["g"]),
          node("Unsqueeze", ["g", "axis"], ["steps"]),
          node("LSTM", ["steps", "r", "r"], ["l"], { hidden_size: 4 }),
          node("ReduceSum", ["l"], ["m"], { keepdims: 0 }),
          node("ReduceSum", ["e"], ["n"], { keepdims: 0 }),
          node("ReduceSum", ["c"], ["o"], { keepdims: 0 }),
          node("Sum", ["m", "n", "o"], ["y"]),
          node("Constant", [], ["axis"], { value: { tensor: integers(0) } }),
        ],
      },
    }),
    { exclude: ["excluded"] },
  );
  assert.deepEqual(left.map(({ name, why }) => [name, why]), [
    ["excluded", "as asked for"],
    ["b", "alpha, beta or transA are set"],
    ["c", "its weight is no constant"],
    ["d", "all of it is constant"],
    ["e", "its weight is no constant"],
    ["z", "its weight is not of float32"],
    ["g", "sums of 70000 products of bytes may be larger than 32 bits"],
    ["l", "ONNX has no LSTM of bytes (see recurrent)"],
  ]);
  assert.deepEqual(layers.map(({ name }) => name), ["f"]);
});

Deno.test("older operator sets are raised where every operator means the same", () => {
  const w = floats(8, 4);
  const old = { opsets: { "": 7 }, irVersion: 3 };
  const relu = modelOf([8], { w }, [
    node("MatMul", ["x", "w"], ["m"]),
    node("Relu", ["m"], ["y"]),
  ], old);
  // Format 3 has initializers among the inputs.
  const inputs = [...relu.graph.inputs!, { name: "w", dims: [8, 4] }];
  const file = writeModel({ ...relu, graph: { ...relu.graph, inputs } });
  const { bytes, notes } = quantized(file);
  const model = readModel(bytes);
  assert.deepEqual([...model.opsets], [["", 11]]);
  assert.equal(model.irVersion, 6);
  assert.deepEqual(model.notes, []);
  // In format 6 it would be an input with a default.
  assert.equal(graphOf(decode(file)).filter(isOf(11)).length, 2);
  assert.equal(graphOf(decode(bytes)).filter(isOf(11)).length, 1);
  assert.deepEqual(notes, [
    "operator set 7 has become 11",
    "file format 3 has become 6",
  ]);
  const clipped = modelOf([8], { w }, [
    node("MatMul", ["x", "w"], ["m"]),
    { ...node("Clip", ["m"], ["y"], { min: { float: 0 } }), name: "clip" },
  ], old);
  assert.throws(() => quantized(writeModel(clipped)), {
    name: "OnnxError",
    message: /node "clip" \(Clip\): the file is of operator set 7, bytes need/,
  });
});

Deno.test("an attribute that says the default is left out where operators of a newer set do not have it", () => {
  const names = ["s", "b", "m", "v"];
  const normalized = (spatial: number) =>
    writeModel(modelOf([8], {
      w: floats(8, 4),
      ...Object.fromEntries(
        names.map((name) => [name, plainOf("float32", [4], [1, 1, 1, 1])]),
      ),
    }, [
      node("MatMul", ["x", "w"], ["p"]),
      node("BatchNormalization", ["p", ...names], ["y"], {
        epsilon: { float: 0.5 },
        spatial,
      }),
    ], { opsets: { "": 8 } }));
  const { bytes } = quantized(normalized(1));
  const { nodes } = readModel(bytes).graph;
  const found = nodes.find(({ op }) => op === "BatchNormalization")!;
  assert.deepEqual([...found.attributes.keys()], ["epsilon"]);
  assert.throws(() => quantized(normalized(0)), {
    name: "OnnxError",
    message:
      /\(BatchNormalization\): the file is of operator set 8, bytes need/,
  });
});

Deno.test("tensors of other files come into this one; those of attributes are refused", () => {
  const more = floats(5);
  const outside = {
    fields: [
      ...[integer(1, 5), integer(2, 1), integer(14, 1)],
      message(13, [text(1, "location"), text(2, "more.bin")]),
    ],
  };
  const beside = (location: string) =>
    location === "more.bin" ? new Uint8Array(more.data.buffer) : undefined;
  const around = { label: "m.onnx", external: beside };
  const model = modelOf([8], { w: floats(8, 5) }, [
    node("MatMul", ["x", "w"], ["m"]),
    node("Add", ["m", "more"], ["y"]),
  ]);
  const withMore = {
    ...model.graph,
    initializers: { ...model.graph.initializers, more: outside },
  };
  const { bytes } = quantizeFile(
    writeModel({ graph: withMore }),
    around,
    {},
  );
  // Nothing is beside it.
  const { initializers } = readModel(bytes).graph;
  assert.deepEqual(initializers.get("more"), more);
  const inAttribute = {
    ...model.graph,
    nodes: [
      node("Constant", [], ["more"], { value: { tensor: outside } }),
      ...model.graph.nodes,
    ],
  };
  assert.throws(
    () => quantizeFile(writeModel({ graph: inAttribute }), around, {}),
    /of an attribute is in another file, which is not put into the new one/,
  );
});

Deno.test("options that are none are refused", async () => {
  const file = writeModel(MODELS["Conv of one dimension"][0]);
  const cases: [unknown, RegExp][] = [
    [{ bits: 4 }, /"bits" is 7 or 8, got 4/],
    [{ exclude: "y" }, /"exclude"/],
    [{ exclude: ["nobody"] }, /there is no node "nobody" to leave/],
    [{ per: "tensor" }, /per/],
  ];
  for (const [options, message] of cases) {
    await assert.rejects(
      quantizeOnnx(file, options as QuantizeOptions),
      message,
    );
  }
});
