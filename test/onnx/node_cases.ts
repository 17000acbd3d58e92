/** Cases of the ONNX project's operator tests (`../shared/data/onnx-node-tests`), where they lie beside the checkout. */
import { existsSync, readFileSync } from "node:fs";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { readTensorFile } from "../../src/onnx/read/read_tensor_file.ts";
import { numbersOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";

const FOLDER = new URL(
  "../../../shared/data/onnx-node-tests/",
  import.meta.url,
);

/** A case as the manifest lists it. */
export interface NodeCase {
  /** Operator that it is about. */
  op: string;
  /** Folder of the ONNX project that it is from. */
  suite: string;
  name: string;
  /** Version of the operator set. */
  opset: number;
  /** Operators of its model. */
  ops: string[];
  /** Inputs with the outputs that they should give. */
  data_sets: number;
  /** Whether ONNX Runtime 1.30 gives those outputs: "pass", or what it does instead. */
  onnxruntime_1_30: "pass" | "mismatch" | "error" | "unsupported";
}

/** Values that go in and should come out, by name. */
export interface DataSet {
  inputs: Map<string, PlainTensor>;
  outputs: Map<string, PlainTensor>;
}

/** All cases, or undefined where there are none. */
export function nodeCases(folder: URL = FOLDER): NodeCase[] | undefined {
  const manifest = new URL("manifest.json", folder);
  if (!existsSync(manifest)) return undefined;
  return JSON.parse(readFileSync(manifest, "utf8"));
}

/** A case's model and data sets. */
export function readNodeCase(
  { suite, name }: NodeCase,
  folder: URL = FOLDER,
): { model: OnnxModel; dataSets: DataSet[] } {
  const here = new URL(`${suite}/${name}/`, folder);
  const model = readModel(readFileSync(new URL("model.onnx", here)), {
    label: name,
  });
  const dataSets: DataSet[] = [];
  for (let i = 0;; i++) {
    const set = new URL(`test_data_set_${i}/`, here);
    if (!existsSync(set)) break;
    const { inputs, outputs } = model.graph;
    dataSets.push({
      inputs: tensors(set, "input", inputs.map(({ name }) => name)),
      outputs: tensors(set, "output", outputs.map(({ name }) => name)),
    });
  }
  return { model, dataSets };
}

/** Tensors `input_0.pb` and so on, in the order of names. */
function tensors(
  set: URL,
  kind: string,
  names: readonly string[],
): Map<string, PlainTensor> {
  return new Map(names.map((name, i) => {
    const file = new URL(`${kind}_${i}.pb`, set);
    return [name, readTensorFile(readFileSync(file), file.pathname)];
  }));
}

/**
 * How a result differs from what it should be, in words; undefined when it does not.
 * @param relative and absolute tolerance; the ONNX runner's by default
 */
export function difference(
  got: PlainTensor | undefined,
  expected: PlainTensor,
  relative = 1e-3,
  absolute = 1e-7,
): string | undefined {
  const shown = ({ type, dims }: PlainTensor) => `${type} [${dims.join(", ")}]`;
  if (!got || shown(got) !== shown(expected)) {
    return `is ${got ? shown(got) : "missing"}, expected ${shown(expected)}`;
  }
  const [results, wanted] = [numbersOf(got), numbersOf(expected)];
  const at = wanted.findIndex((want, i) =>
    !(Object.is(results[i], want) || results[i] === want ||
      Math.abs(results[i] - want) <= absolute + relative * Math.abs(want))
  );
  return at < 0
    ? undefined
    : `[${at}] is ${results[at]}, expected ${wanted[at]}`;
}
