/** Found nodes that were cut into cells which refused them, or gave other numbers than the plain operators do. */
import assert from "node:assert/strict";
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
import { difference } from "./node_cases.ts";
import { node, writeModel, type WrittenNode } from "./write_model.ts";

const f32 = (dims: readonly number[], values: readonly number[]) =>
  plainTensor("float32", dims, Float32Array.from(values));
const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);
const bytes = plainOf("uint8", [1, 1, 2, 3], [7, 250, 3, 200, 4, 9]);
const three = f32([3], [-2, 0.5, 3]);

interface Found {
  /** Makes y of x. */
  node: WrittenNode;
  x: PlainTensor;
  weights?: Record<string, PlainTensor>;
  opset?: number;
}

const clip = (min: number, max: number): Found => ({
  node: node("Clip", ["x", "min", "max"], ["y"]),
  x: three,
  weights: { min: f32([], [min]), max: f32([], [max]) },
});

const FOUND: Readonly<Record<string, Found>> = {
  "MaxPool of bytes, which are no image": {
    node: node("MaxPool", ["x"], ["y"], { kernel_shape: [2, 2] }),
    x: bytes,
  },
  "Split of which the last part is left out": {
    node: node("Split", ["x", "parts"], ["y", ""]),
    x: three,
    weights: { parts: whole(2, 1) },
  },
  "Concat with constant integers": {
    node: node("Concat", ["x", "more"], ["y"], { axis: 0 }),
    x: plainOf("int32", [2], [-1, 2]),
    weights: { more: plainOf("int32", [1], [9]) },
  },
  "LayerNormalization with a scale for its last axis alone": {
    node: node("LayerNormalization", ["x", "scale"], ["y"], { axis: 0 }),
    x: f32([2, 2], [1, 2, 5, -3]),
    weights: { scale: f32([2], [2, 3]) },
  },
  "LayerNormalization with a scale and a shift for each row": {
    node: node("LayerNormalization", ["x", "scale", "shift"], ["y"]),
    x: f32([3, 3], [1, 2, 5, -3, 0, 4, 2, 2, 1]),
    weights: { scale: f32([3, 1], [2, 3, -1]), shift: f32([3, 1], [1, 0, 2]) },
  },
  "LayerNormalization over two axes with a scale for each matrix": {
    node: node("LayerNormalization", ["x", "scale"], ["y"], { axis: 1 }),
    x: f32([4, 2, 2], [1, 2, 5, -3, 0, 4, 2, 2, 1, 7, 3, 0, -1, 2, 5, 6]),
    weights: { scale: f32([4, 1, 1], [2, 3, -1, 1]) },
  },
  "RMSNormalization with a scale for each row": {
    node: node("RMSNormalization", ["x", "scale"], ["y"]),
    x: f32([3, 3], [1, 2, 5, -3, 0, 4, 2, 2, 1]),
    weights: { scale: f32([3, 1], [2, 3, -1]) },
    opset: 23,
  },
  "Resize to one pixel, which PyTorch has as the first": {
    node: node("Resize", ["x", "", "scales"], ["y"], {
      mode: "linear",
      coordinate_transformation_mode: "pytorch_half_pixel",
    }),
    x: f32([1, 1, 2], [0, 10]),
    weights: { scales: f32([3], [1, 1, 0.8]) },
  },
  "Resize of a region by scales": {
    node: node("Resize", ["x", "region", "scales"], ["y"], {
      mode: "linear",
      coordinate_transformation_mode: "tf_crop_and_resize",
    }),
    x: f32([1, 1, 4], [0, 1, 5, 2]),
    weights: {
      region: f32([6], [0, 0, 0, 1, 1, 0.5]),
      scales: f32([3], [1, 1, 4]),
    },
  },
  "Clip from infinity on": clip(Infinity, 1),
  "Clip to minus infinity": clip(-1, -Infinity),
  "Clip from what is no number": clip(NaN, 1),
  "Clip to what is no number": clip(-1, NaN),
  "Clip between infinities": clip(-Infinity, Infinity),
  "LeakyRelu without a slope, of an infinite number": {
    node: node("LeakyRelu", ["x"], ["y"], { alpha: { float: 0 } }),
    x: f32([2], [Infinity, -1]),
  },
  "LeakyRelu of a slope above 1": {
    node: node("LeakyRelu", ["x"], ["y"], { alpha: { float: 2 } }),
    x: three,
  },
};

for (const [name, found] of Object.entries(FOUND)) {
  const { node, x, weights = {}, opset } = found;
  Deno.test(`cut as the plain operator says: ${name}`, () => {
    const { graph, ...file } = readModel(writeModel({
      graph: {
        inputs: [{ name: "x", type: x.type, dims: x.dims }],
        outputs: [{ name: "y" }],
        initializers: weights,
        nodes: [node],
      },
      ...(opset !== undefined && { opsets: { "": opset } }),
    }));
    const wanted = runPlainGraph(graph, new Map([["x", x]])).get("y")!;
    const model = onnxModel({ ...file, graph });
    const [{ y }] = runRequests(model, [{ x: x.data as TensorData }]);
    const got = { type: wanted.type, dims: y.shape, data: y.data };
    assert.equal(difference(got as PlainTensor, wanted, 1e-6), undefined);
  });
}
