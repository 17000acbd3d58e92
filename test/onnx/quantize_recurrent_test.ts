/** LSTMs whose weights become bytes: what is written, what stays, and what it gives. No data sets are needed. */
import assert from "node:assert/strict";
import { quantizeFile } from "../../src/onnx/quantize/quantize_file.ts";
import { lstmBytes } from "../../src/onnx/quantize/lstm_layer.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { drawn, SEED, whole } from "./step_cases.ts";
import { decode } from "./wire.ts";
import {
  node,
  writeModel,
  type WrittenModel,
  type WrittenNode,
} from "./write_model.ts";

const STEPS = 3;
const WIDE = 6;
const HIDDEN = 4;
const ROWS = 4 * HIDDEN;
/** `opset_import` of a model. */
const OPSETS = 8;

const NOWHERE = { label: "m.onnx", external: () => undefined };
const quantized = (model: WrittenModel, bits: 7 | 8 = 8) =>
  quantizeFile(writeModel(model), NOWHERE, { recurrent: true, bits });

/** x of some steps through an LSTM. */
function modelOf(
  lstm: WrittenNode,
  initializers: Record<string, PlainTensor>,
  dims: readonly (number | string)[] = [STEPS, 1, WIDE],
): WrittenModel {
  return {
    graph: {
      inputs: [{ name: "x", dims }],
      outputs: [{ name: "y" }],
      initializers,
      nodes: [lstm],
    },
    opsets: { "": 17 },
  };
}

const weights = (directions = 1) => ({
  w: drawn(directions, ROWS, WIDE) as PlainTensor<"float32">,
  r: drawn(directions, ROWS, HIDDEN) as PlainTensor<"float32">,
  b: drawn(directions, 2 * ROWS) as PlainTensor<"float32">,
});

for (const [direction, directions] of [["reverse", 1], ["bidirectional", 2]]) {
  Deno.test(`an LSTM of bytes is near that of floats: ${direction}`, () => {
    const file = modelOf(
      node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["y", "last"], {
        ...{ hidden_size: HIDDEN, direction, layout: 0 },
      }),
      {
        ...weights(Number(directions)),
        h: drawn(Number(directions), 1, HIDDEN),
        c: drawn(Number(directions), 1, HIDDEN),
      },
    );
    for (const [bits, most] of [[8, 0.02], [7, 0.04]] as const) {
      const { bytes, layers, left } = quantized(file, bits);
      const count = Number(directions) * ROWS * (WIDE + HIDDEN);
      assert.deepEqual(left, []);
      assert.deepEqual(layers, [{
        ...{ name: "y", op: "LSTM", shape: [directions, ROWS, WIDE] },
        bytesBefore: 4 * count,
        bytesAfter: count + 10 * Number(directions) * ROWS,
      }]);
      const read = readModel(bytes);
      assert.deepEqual([...read.opsets], [["", 17], ["com.microsoft", 1]]);
      assert.deepEqual([...read.graph.initializers.keys()].sort(), [
        ...["b", "c", "h", "r_quantized", "r_scale", "r_zero_point"],
        ...["w_quantized", "w_scale", "w_zero_point"],
      ]);
      const model = onnxModel(read);
      assert.deepEqual(
        new Set(
          model.cells.filter(({ recurrent }) => recurrent)
            .flatMap(({ operators }) => operators.map(({ op }) => op)),
        ),
        new Set(["DynamicQuantizeLSTM"]),
      );
      const x = drawn(STEPS, 1, WIDE);
      const [{ y }] = runRequests(model, [{ x: x.data as TensorData }]);
      const wanted = runPlainGraph(
        readModel(writeModel(file)).graph,
        new Map([["x", x]]),
      ).get("y")!;
      wanted.data.forEach((value, at) =>
        assert(
          Math.abs(Number(y.data[at]) - Number(value)) < most,
          `seed ${SEED}, ${bits} bits: y[${at}] is ${
            y.data[at]
          }, of floats ${value}`,
        )
      );
      assert.notDeepEqual([...y.data], [...wanted.data]);
    }
  });
}

Deno.test("weights of an LSTM: turned, each column of each direction with its own scale", () => {
  const { r } = weights(2);
  // One column is much larger, of one direction.
  for (let i = 0; i < HIDDEN; i++) r.data[(ROWS + 3) * HIDDEN + i] *= 1000;
  const { bytes, scales } = lstmBytes(r, 8);
  assert.deepEqual(bytes.dims, [2, HIDDEN, ROWS]);
  assert.equal(scales.length, 2 * ROWS);
  for (let direction = 0; direction < 2; direction++) {
    for (let column = 0; column < ROWS; column++) {
      const scale = scales[direction * ROWS + column];
      let largest = 0;
      for (let i = 0; i < HIDDEN; i++) {
        const steps = bytes.data[(direction * HIDDEN + i) * ROWS + column];
        const value = r.data[(direction * ROWS + column) * HIDDEN + i];
        assert(Math.abs(value - steps * scale) <= 0.5001 * scale);
        largest = Math.max(largest, Math.abs(steps));
      }
      assert.equal(largest, 127);
    }
  }
});

Deno.test("LSTMs beside each other: of one weight and shared with what stays; a domain that is named is not named again", () => {
  const { w, r, b } = weights();
  const square = { ...w, ...drawn(1, ROWS, HIDDEN) } as PlainTensor<"float32">;
  const sizes = { hidden_size: HIDDEN };
  const { bytes, layers } = quantized({
    graph: {
      inputs: [{ name: "x", dims: [STEPS, 1, WIDE] }],
      outputs: [{ name: "y" }],
      initializers: { w, r, b, square, axis: whole(1) },
      nodes: [
        node("LSTM", ["x", "w", "r", "b"], ["a"], sizes),
        node("Squeeze", ["a", "axis"], ["a1"]),
        node("LSTM", ["a1", "square", "r", "b"], ["c"], sizes),
        node("Squeeze", ["c", "axis"], ["c1"]),
        node("LSTM", ["c1", "square", "r"], ["d"], sizes),
        node("Gelu", ["d"], ["e"]),
        node("ReduceMax", ["square"], ["f"], { keepdims: 0 }),
        node("Add", ["e", "f"], ["y"]),
      ].map((one) =>
        one.op === "Gelu" ? { ...one, domain: "com.microsoft" } : one
      ),
    },
    opsets: { "": 17, "com.microsoft": 1 },
  });
  assert.equal(layers.length, 3);
  const { opsets, graph } = readModel(bytes);
  assert.deepEqual([...opsets], [["", 17], ["com.microsoft", 1]]);
  assert.equal(decode(bytes).filter(([field]) => field === OPSETS).length, 2);
  const names = [...graph.initializers.keys()];
  assert.deepEqual(names.filter((name) => name.endsWith("_quantized")).sort(), [
    ...["r_quantized", "square_quantized", "w_quantized"],
  ]);
  assert(names.includes("square"));
  assert(!names.includes("r") && !names.includes("w"));
  assert.equal(onnxModel(readModel(bytes)).results[0].name, "y");
});

Deno.test("LSTMs that stay, each with its reason", () => {
  const { w, r, b } = weights();
  const of = (
    change: {
      inputs?: readonly string[];
      attributes?: WrittenNode["attributes"];
      more?: Record<string, PlainTensor>;
      dims?: readonly (number | string)[];
    },
  ) => {
    const { inputs = ["x", "w", "r", "b"], attributes, more, dims } = change;
    const lstm = node("LSTM", inputs, ["y"], {
      hidden_size: HIDDEN,
      ...attributes,
    });
    const { left, layers } = quantized(
      modelOf(lstm, { w, r, b, ...more }, dims),
    );
    return left.map(({ why }) => why)[0] ?? layers[0].op;
  };
  const own = "it has activations, clipping or gates of its own";
  const named = (activations: string[]) => ({
    attributes: { activations: { strings: activations } },
  });
  assert.equal(of({}), "LSTM");
  assert.equal(of(named(["Sigmoid", "Tanh", "Tanh"])), "LSTM");
  assert.equal(of(named(["Sigmoid", "Relu", "Tanh"])), own);
  assert.equal(of({ attributes: { clip: { float: 3 } } }), own);
  assert.equal(of({ attributes: { input_forget: 1 } }), own);
  assert.equal(
    of({ attributes: { layout: 1 }, dims: [1, STEPS, WIDE] }),
    "its sequences come first (layout)",
  );
  const lengths = plainOf("int32", [1], [STEPS]);
  const peepholes = drawn(1, 3 * HIDDEN);
  const beside = "it has lengths or peepholes";
  assert.equal(
    of({ inputs: ["x", "w", "r", "b", "l"], more: { l: lengths } }),
    beside,
  );
  assert.equal(
    of({
      inputs: ["x", "w", "r", "b", "", "", "", "p"],
      more: { p: peepholes },
    }),
    beside,
  );
  assert.equal(
    of({ dims: [STEPS, 2, WIDE] }),
    "it takes several sequences together",
  );
  const infinite = Float32Array.from(w.data);
  infinite[5] = Infinity;
  assert.equal(
    of({ more: { w: plainTensor("float32", w.dims, infinite) } }),
    "a weight is infinite or not a number",
  );
  const inputs = [
    { name: "x", dims: [STEPS, 1, WIDE] },
    { name: "w", dims: w.dims },
  ];
  const { graph, ...rest } = modelOf(
    node("LSTM", ["x", "w", "r"], ["y"], { hidden_size: HIDDEN }),
    { r },
  );
  assert.deepEqual(
    quantized({ graph: { ...graph, inputs }, ...rest }).left.map(({ why }) =>
      why
    ),
    ["its weights are no constants of float32"],
  );
});
