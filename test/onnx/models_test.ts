/** Real networks, where they lie beside the checkout: every value has the shape that was inferred, simplified or not. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { Prng } from "../../src/base/prng.ts";
import type { OnnxGraph } from "../../src/onnx/ir.ts";
import { Place } from "../../src/onnx/place.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { symbolsOf } from "../../src/onnx/shapes/dim.ts";
import {
  type InferredValues,
  ShapeInference,
} from "../../src/onnx/shapes/infer_graph.ts";
import { sizesAt } from "../../src/onnx/shapes/value.ts";
import { simplify } from "../../src/onnx/simplify/simplify.ts";
import {
  newElements,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";

const FOLDER = new URL("../../../shared/data/models/", import.meta.url);

/** Files, how many nodes are left of them, and whether plain TypeScript runs them in seconds. */
const MODELS: Record<string, { nodes: number; isRun: boolean }> = {
  "mnist-8/model.onnx": { nodes: 11, isRun: true },
  "dtln-model-1/model.onnx": { nodes: 36, isRun: true },
  "dtln-model-2/model.onnx": { nodes: 76, isRun: true },
  "silero-vad-16k/model.onnx": { nodes: 37, isRun: true },
  "magika-standard-v3_3/model.onnx": { nodes: 95, isRun: true },
  "resnet20-cifar10/model.onnx": { nodes: 73, isRun: true },
  "face-rfb-320/model.onnx": { nodes: 110, isRun: true },
  "cnn-topologies/squeezenet.onnx": { nodes: 65, isRun: true },
  "cnn-topologies/inception_v1.onnx": { nodes: 142, isRun: false },
  "cnn-topologies/resnet50.onnx": { nodes: 176, isRun: false },
  "cnn-topologies/bvlc_alexnet.onnx": { nodes: 22, isRun: false },
  // Without the 392 MiB of a layer's weights, which the file has as their size.
  "cnn-topologies/vgg19.onnx": { nodes: 44, isRun: false },
};

/** What a symbol is here: the batch that a file leaves open. */
const BATCH = 2;

/** A tensor of small numbers, whole where its type is. */
function drawn(type: PlainType, dims: readonly number[], prng: Prng) {
  const data = newElements(type, elementCount(dims));
  for (let i = 0; i < data.length; i++) {
    const value = type === "float32" ? 2 * prng.float() - 1 : prng.int(3);
    data[i] = (data instanceof BigInt64Array || data instanceof BigUint64Array)
      ? BigInt(value)
      : value;
  }
  return plainTensor(type, dims, data as never) as PlainTensor;
}

/** The same graph with all of its values as outputs. */
function exposed(graph: OnnxGraph): OnnxGraph {
  const names = graph.nodes.flatMap(({ outputs }) =>
    outputs.filter((name) => name !== "")
  );
  const outputs = names.map((name) => ({ name, type: null, dims: null }));
  return { ...graph, outputs };
}

function checkShapes(
  results: ReadonlyMap<string, PlainTensor>,
  values: InferredValues,
  sizes: ReadonlyMap<string, number>,
): void {
  for (const [name, { type, dims }] of results) {
    const value = values.get(name)!;
    assert.equal(value.type, type, name);
    assert.deepEqual(sizesAt(value, sizes), dims, name);
  }
}

for (const [path, { nodes, isRun }] of Object.entries(MODELS)) {
  Deno.test(`shapes and values of ${path}`, () => {
    const file = new URL(path, FOLDER);
    if (!existsSync(file)) {
      return console.log("skipped: no ../shared/data/models");
    }
    const model = readModel(readFileSync(file), { label: path });
    const simplified = simplify(model);
    const values = new ShapeInference().graph(model.graph, new Place(path));
    assert.equal(simplified.model.graph.nodes.length, nodes);
    const sizes = new Map<string, number>();
    for (const [name, { type, dims }] of values) {
      assert(type !== null && dims !== null, `nothing is known of ${name}`);
      for (const size of dims) {
        for (const symbol of symbolsOf(size)) sizes.set(symbol, BATCH);
      }
    }
    // Nothing but the sizes that inputs leave open, and one of those at most.
    assert(sizes.size <= 1, [...sizes.keys()].join());
    if (!isRun) return;

    const prng = new Prng(1);
    const inputs = new Map(model.graph.inputs.map(({ name }) => {
      const value = values.get(name)!;
      return [name, drawn(value.type!, sizesAt(value, sizes)!, prng)];
    }));
    const results = runPlainGraph(exposed(model.graph), inputs);
    checkShapes(results, values, sizes);
    const others = runPlainGraph(exposed(simplified.model.graph), inputs);
    checkShapes(others, simplified.values, sizes);
    for (const [name, tensor] of others) {
      assert.deepEqual(tensor, results.get(name), name);
    }
    const outputs = runPlainGraph(simplified.model.graph, inputs);
    for (const { name } of model.graph.outputs) {
      assert.deepEqual(outputs.get(name), results.get(name), name);
    }
  });
}
