/** Requests with the outputs that ONNX Runtime gives them, of the models that lie beside the checkout. */
import { existsSync, readFileSync } from "node:fs";
import type { OnnxInput } from "../../src/onnx/input_tensors.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import type { ModelOptions, OnnxCellModel } from "../../src/onnx/model.ts";
import { tensor, type TensorData } from "../../src/tensor/tensor.ts";
import { dataFolder } from "../workload/data_folder.ts";
import { readTensorFile } from "./node_cases.ts";

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
