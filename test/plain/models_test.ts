/** Whole models by plain operators, against their reference outputs, where they lie beside the checkout. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  type PlainTensor,
  scalarOf,
  zerosOf,
} from "../../src/tensor/plain_tensor.ts";
import { readSafetensors } from "../../src/tensor/safetensors.ts";
import { readTensorFile } from "../../src/onnx/read/read_tensor_file.ts";
import { difference } from "../onnx/node_cases.ts";

const FOLDER = new URL("../../../shared/data/models/", import.meta.url);

function modelOf(name: string) {
  const file = new URL(`${name}/model.onnx`, FOLDER);
  if (existsSync(file)) return readModel(readFileSync(file), { label: name });
  console.log(`skipped: no ../shared/data/models/${name}`);
}

for (const name of ["mnist-8", "resnet20-cifar10", "face-rfb-320"]) {
  Deno.test(`${name} by plain operators gives its reference outputs`, () => {
    const model = modelOf(name);
    if (!model) return;
    const tensor = (kind: string, i: number) => {
      const file = new URL(`${name}/test_data_set_0/${kind}_${i}.pb`, FOLDER);
      return readTensorFile(readFileSync(file), file.pathname);
    };
    const inputs = new Map(
      model.graph.inputs.map(({ name }, i) => [name, tensor("input", i)]),
    );
    [...runPlainGraph(model.graph, inputs)].forEach(([output, value], i) =>
      assert.equal(
        difference(value, tensor("output", i), 1e-4, 1e-5),
        undefined,
        output,
      )
    );
  });
}

/** Models whose state goes from one step to the next: inputs of data and state, outputs of the same. */
const SEQUENCES: Record<
  string,
  {
    input: string;
    state: string;
    constants?: Record<string, PlainTensor>;
    /** Steps that are run of those that there are. */
    steps: number;
  }
> = {
  "silero-vad-16k": {
    input: "input",
    state: "state",
    constants: { sr: scalarOf("int64", 16000) },
    steps: 90,
  },
  "dtln-model-1": { input: "input_2", state: "input_3", steps: 100 },
  "dtln-model-2": { input: "input_4", state: "input_5", steps: 100 },
};

for (
  const [name, { input, state, constants, steps }] of Object.entries(SEQUENCES)
) {
  Deno.test(`${name} by plain operators gives its reference sequence`, () => {
    const model = modelOf(name);
    if (!model) return;
    const tensors = readSafetensors(
      readFileSync(new URL(`${name}/sequence.safetensors`, FOLDER)),
      name,
    );
    /** A step of a sequence, or the whole of it. */
    const plain = (key: string, step?: number): PlainTensor => {
      const found = tensors.get(key);
      assert(found, key);
      const { shape, data } = found;
      if (step === undefined) return { type: "float32", dims: shape, data };
      const size = data.length / shape[0];
      const part = data.subarray(step * size, (step + 1) * size);
      return { type: "float32", dims: shape.slice(1), data: part };
    };
    const last = plain("final_state");
    let kept: PlainTensor = zerosOf("float32", last.dims);
    assert.equal(tensors.get("output")?.shape[0], steps);
    for (let step = 0; step < steps; step++) {
      const given: Map<string, PlainTensor> = new Map(
        Object.entries({
          ...constants,
          [input]: plain(input, step),
          [state]: kept,
        }),
      );
      const [output, next]: PlainTensor[] = [
        ...runPlainGraph(model.graph, given).values(),
      ];
      assert.equal(
        difference(output, plain("output", step), 1e-3, 1e-4),
        undefined,
        `step ${step}`,
      );
      kept = next;
    }
    assert.equal(difference(kept, last, 1e-3, 1e-4), undefined, "state");
  });
}
