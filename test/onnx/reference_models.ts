/** Requests with the outputs that ONNX Runtime gives them, of the models that lie beside the checkout. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import type { OnnxInput } from "../../src/onnx/input_tensors.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import {
  type ModelOptions,
  type OnnxCellModel,
  onnxModel,
} from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import type { Result } from "../../src/graph/result.ts";
import { readPlainSafetensors } from "../../src/tensor/safetensors.ts";
import {
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import {
  elementCount,
  isShape,
  tensor,
  type TensorData,
} from "../../src/tensor/tensor.ts";
import { drawer } from "../models/drawer.ts";
import { dataFolder } from "../workload/data_folder.ts";
import { readTensorFile } from "../../src/onnx/read/read_tensor_file.ts";

/** A request and what it should give; several models expect some of their outputs only. */
export interface Reference {
  input: OnnxInput;
  expected: Readonly<Record<string, TensorData>>;
}

/** A model with its requests. */
export interface ReferenceModel {
  model: OnnxCellModel;
  references: Reference[];
}

/** The folder of a model; undefined, and a word about it, where there is none. */
export function modelFolder(what: string, name: string): URL | undefined {
  const folder = dataFolder(what);
  if (folder === undefined) return undefined;
  const here = new URL(`file://${folder}/models/${name}/`);
  if (existsSync(here)) return here;
  console.log(`skipped: ${what}: no models/${name}`);
  return undefined;
}

/** Data sets of ONNX's own form; one of several rows is as many requests. */
export async function withDataSets(
  folder: URL,
  options: ModelOptions = {},
): Promise<ReferenceModel> {
  const model = await loadOnnx(new URL("model.onnx", folder), options);
  const references: Reference[] = [];
  for (let set = 0;; set++) {
    const here = new URL(`test_data_set_${set}/`, folder);
    if (!existsSync(here)) return { model, references };
    const read = (kind: string, i: number) => {
      const { pathname } = new URL(`${kind}_${i}.pb`, here);
      return readTensorFile(readFileSync(pathname), pathname);
    };
    const [rows] = read("input", 0).dims;
    for (let row = 0; row < rows; row++) {
      const part = (kind: string, i: number): TensorData => {
        const data = read(kind, i).data as TensorData;
        const size = data.length / rows;
        return data.slice(row * size, (row + 1) * size);
      };
      references.push({
        input: Object.fromEntries(
          model.inputs.map((
            { name, shape },
            i,
          ) => [name, tensor(shape, part("input", i))]),
        ),
        expected: Object.fromEntries(
          model.results.map(({ name }, i) => [name, part("output", i)]),
        ),
      });
    }
  }
}

/** Tensors of a file beside the model. */
function tensorsOf(folder: URL, name: string) {
  return readPlainSafetensors(readFileSync(new URL(name, folder)), name);
}

/**
 * Frames of one stream, axis 0 of `sequence.safetensors` the time: each is a request that brings the state of those
 * before.
 * @param run what a frame gives alone
 */
export async function withSequence(
  folder: URL,
  options: ModelOptions,
  run: (model: OnnxCellModel, input: OnnxInput) => Result,
): Promise<ReferenceModel> {
  const model = await loadOnnx(new URL("model.onnx", folder), options);
  const given = tensorsOf(folder, "sequence.safetensors");
  const [output, state] = model.results;
  const [frames] = given.get("output")!.dims;
  const stateIn = model.inputs.find(({ name, shape }) =>
    !given.has(name) && isShape(shape, state.shape)
  )!;
  let carried: TensorData = new Float32Array(elementCount(state.shape));
  const references: Reference[] = [];
  for (let t = 0; t < frames; t++) {
    const frame = (tensor: PlainTensor): TensorData => {
      const size = tensor.data.length / frames;
      return (tensor.data as TensorData).slice(t * size, (t + 1) * size);
    };
    const input = Object.fromEntries(model.inputs.map(({ name, dtype }) => {
      const tensor = given.get(name);
      if (tensor) return [name, frame(tensor)];
      if (name === stateIn.name) return [name, carried];
      assert.equal(dtype, "i64", "the sampling rate");
      return [name, BigInt64Array.of(16000n)];
    }));
    const last = t === frames - 1;
    references.push({
      input,
      expected: {
        [output.name]: frame(given.get("output")!),
        ...(last &&
          { [state.name]: given.get("final_state")!.data as TensorData }),
      },
    });
    carried = run(model, input)[state.name].data;
  }
  return { model, references };
}

/** Requests of `cases.safetensors`, axis 0 of which is the batch. */
export async function withCases(
  folder: URL,
  options: ModelOptions = {},
): Promise<ReferenceModel> {
  const model = await loadOnnx(new URL("model.onnx", folder), options);
  const given = tensorsOf(folder, "cases.safetensors");
  const [rows] = given.get(model.inputs[0].name)!.dims;
  const row = (name: string, i: number): TensorData => {
    const data = given.get(name)!.data as TensorData;
    const size = data.length / rows;
    return data.slice(i * size, (i + 1) * size);
  };
  const named = (specs: readonly { name: string }[], i: number) =>
    Object.fromEntries(specs.map(({ name }) => [name, row(name, i)]));
  return {
    model,
    references: Array.from({ length: rows }, (_, i) => ({
      input: named(model.inputs, i),
      expected: named(model.results, i),
    })),
  };
}

const SIDE = 224;

/** What a seeded tensor of a kind is. */
const KINDS: Readonly<
  Record<string, (u: number, shape: readonly number[]) => number>
> = {
  w: (u, shape) => u * Math.sqrt(6 / elementCount(shape.slice(1))),
  b: (u) => 0.1 * u,
  scale: (u) => 1 + 0.1 * u,
  var: (u) => 1 + 0.25 * (u + 1),
};

/** A published graph, and the weights that it leaves out, by name. */
export function seededFile(
  folder: URL,
  net: string,
): { file: OnnxModel; constants: Map<string, PlainTensor> } {
  const file = readModel(readFileSync(new URL(`${net}.onnx`, folder)), {
    label: net,
  });
  const kinds: { tensor: string; shape: number[]; kind: string }[] = JSON.parse(
    readFileSync(new URL(`${net}.weights.json`, folder), "utf8"),
  );
  const constants = new Map(kinds.map(({ tensor, shape, kind }) => {
    const draw = drawer(tensor);
    const data = new Float32Array(elementCount(shape));
    for (let i = 0; i < data.length; i++) data[i] = KINDS[kind](draw(), shape);
    return [tensor, plainTensor("float32", shape, data)] as const;
  }));
  return { file, constants };
}

/**
 * A published graph with seeded weights, up to what goes into its last Softmax, of two images.
 * @param given in place of the published graph
 */
export function withSeededWeights(
  folder: URL,
  net: string,
  options: ModelOptions = {},
  given?: OnnxModel,
): ReferenceModel {
  const { file: published, constants } = seededFile(folder, net);
  const file = given ?? published;
  const last = file.graph.nodes.find(({ outputs }) =>
    outputs[0] === file.graph.outputs[0].name
  )!;
  const name = last.op === "Softmax" ? last.inputs[0] : last.outputs[0];
  const outputs = [{ name, type: "float32" as const, dims: null }];
  const graph = { ...file.graph, outputs };
  const model = onnxModel({ ...file, graph }, { ...options, constants });
  const logits = tensorsOf(folder, `${net}.seeded-logits.safetensors`);
  const references = ["image-a", "image-b"].map((image): Reference => {
    const draw = drawer(image);
    const grid = Array.from({ length: 3 * 8 * 8 }, draw);
    const pixels = new Float32Array(3 * SIDE * SIDE);
    pixels.forEach((_, i) => {
      const [c, y, x] = [
        Math.floor(i / SIDE / SIDE),
        Math.floor(i / SIDE) % SIDE,
        i % SIDE,
      ];
      pixels[i] = grid[64 * c + 8 * Math.floor(y / 28) + Math.floor(x / 28)];
    });
    return {
      input: { [model.inputs[0].name]: pixels },
      expected: { [name]: logits.get(image)!.data as TensorData },
    };
  });
  return { model, references };
}
