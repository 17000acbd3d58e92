/** ResNet-50 as it is written by hand, and the published file of it, with the same weights: the same bits. */
import assert from "node:assert/strict";
import { resnet50 } from "../../src/models/resnet.ts";
import { tensor, type TensorData } from "../../src/tensor/tensor.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";
import { runRequests } from "../run_requests.ts";
import {
  modelFolder,
  seededFile,
  withSeededWeights,
} from "./reference_models.ts";

const WHAT = "resnet50() and the file of ResNet-50 give the same bits";

const SLOT_BYTES = 2 ** 28;

/** Of a BatchNormalization, torchvision's names and the file's. */
const NORMS: Readonly<Record<string, string>> = {
  weight: "s",
  bias: "b",
  running_mean: "rm",
  running_var: "riv",
};

/** What the file calls a tensor of torchvision's name. */
function nameInFile(name: string): string {
  const [, layer, kind] = /^(.*)\.(\w+)$/.exec(name)!;
  if (layer === "fc") return `gpu_0/pred_${kind[0]}_0`;
  if (layer === "conv1") return "gpu_0/conv1_w_0";
  if (layer === "bn1") return `gpu_0/res_conv1_bn_${NORMS[kind]}_0`;
  const [, stage, block, part] = /^layer(\d)\.(\d)\.(.*)$/.exec(layer)!;
  const branch = part.startsWith("downsample")
    ? "branch1"
    : `branch2${"abc"[Number(part.at(-1)) - 1]}`;
  const isNorm = part.startsWith("bn") || part === "downsample.1";
  return `gpu_0/res${Number(stage) + 1}_${block}_${branch}_${
    isNorm ? `bn_${NORMS[kind]}` : "w"
  }_0`;
}

/** [channels][height][width] as [height][width][channels]. */
function channelsLast(data: TensorData, channels: number): Float32Array {
  const pixels = data.length / channels;
  return Float32Array.from(
    { length: data.length },
    (_, i) => Number(data[i % channels * pixels + Math.floor(i / channels)]),
  );
}

Deno.test(WHAT, () => {
  const folder = modelFolder(WHAT, "cnn-topologies");
  if (folder === undefined) return;
  const { file, constants } = seededFile(folder, "resnet50");
  const asked = new Set<string>();
  const weights: WeightSource = (name, shape) => {
    const known = nameInFile(name);
    const given = constants.get(known) ?? file.graph.initializers.get(known);
    assert(given, `${name}: the file has no ${known}`);
    asked.add(known);
    return tensor(shape, given.data as Float32Array);
  };
  const byHand = resnet50({ weights });
  for (const name of constants.keys()) {
    assert(asked.has(name), `nobody asked for ${name}`);
  }
  // The file divides by the root of variance + 1.00000007e-5, resnet50() of variance + 1e-5: all that differs.
  const epsilons = new Set<unknown>();
  const { model, references } = withSeededWeights(folder, "resnet50", {}, {
    ...file,
    graph: {
      ...file.graph,
      nodes: file.graph.nodes.map((node) => {
        const epsilon = node.attributes.get("epsilon");
        if (epsilon?.kind !== "float") return node;
        epsilons.add(epsilon.value);
        const given = { ...epsilon, value: 1e-5 };
        return { ...node, attributes: new Map([["epsilon", given]]) };
      }),
    },
  });
  assert.deepEqual([...epsilons], [Math.fround(1.00000007e-5)]);
  const [{ input }] = references;
  const [image] = Object.values(input) as TensorData[];
  const [wanted] = runRequests(byHand, [{ image: channelsLast(image, 3) }], {
    slotBytes: SLOT_BYTES,
  });
  const [got] = runRequests(model, [input], { slotBytes: SLOT_BYTES });
  const expected = wanted["logits"].data;
  assert(new Set(expected).size > 900, "logits are of many values");
  assert.deepEqual([...got[model.results[0].name].data], [...expected]);
});
