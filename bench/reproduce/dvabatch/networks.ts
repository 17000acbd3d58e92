/** The networks of DVABatch's evaluation (Table 1) on its GPU, and how each is served. */
import type { Prng } from "../../../src/base/prng.ts";
import {
  type GpuConfig,
  GpuCost,
  TITAN_RTX,
} from "../../../src/cost/gpu_cost.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import { typicalProfile } from "../../../src/cost/typical_profile.ts";
import type { VirtualArrival } from "../../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../../src/graph/model.ts";
import { bert, type BertInput } from "../../../src/models/bert.ts";
import { linknet } from "../../../src/models/linknet.ts";
import { resnet152 } from "../../../src/models/resnet.ts";
import { unet } from "../../../src/models/unet.ts";
import { vgg19 } from "../../../src/models/vgg.ts";
import type { DvaPolicy } from "../../../src/policy/dvabatch/schedule.ts";
import type { Profile } from "../../../src/policy/profile.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import { lengthSampler, TASKS } from "../../../src/workload/lengths.ts";
import { withoutImages } from "../layer_model.ts";

export interface DvaNetwork {
  /** What is simulated: of an image network a chain without images. */
  readonly model: Model;
  /** The network itself, and an input of its usual size. */
  readonly whole: Model;
  readonly typical: unknown;
  readonly cost: SharedCost;
  /** What policies plan by. */
  readonly profile: Profile;
  request(prng: Prng): VirtualArrival;
  /** Policy and stages that the paper gives a model with these diversities (sections 7.2, 8.7). */
  readonly policy: DvaPolicy;
  readonly stages: number;
}

/** A network of one image per request. */
function imageNetwork(network: Model, policy: DvaPolicy): DvaNetwork {
  const { model, cellOf } = withoutImages(network);
  const gpu = new GpuCost(TITAN_RTX);
  const cost: SharedCost = {
    latencyNs: (cell, rows) => gpu.latencyNs(cellOf(cell), rows),
    demand: (cell, rows) => gpu.demand(cellOf(cell), rows),
  };
  const { height, width, channels } = network.image!;
  return {
    model,
    whole: network,
    typical: { image: new Float32Array(height * width * channels) },
    cost,
    profile: (cell, rows) => cost.latencyNs(cell, rows),
    request: () => ({ model, input: {}, arrivalNs: 0 }),
    policy,
    stages: 4,
  };
}

/**
 * Side of U-Net's images. Assumption: the paper gives none; of this size 64, its largest batch, take about
 * its QoS target of 200 ms on the device.
 */
export const UNET_SIDE = 128;

/**
 * The same device's tensor cores, which the paper's TensorRT may have used: it does not say in which format it computes.
 */
const TENSOR_CORES: GpuConfig = {
  ...TITAN_RTX,
  name: "Titan RTX, f16",
  source:
    "As TITAN_RTX, with the 130.5 TFLOPS of its tensor cores in f16 and the same share of them",
  flopsPerS: 130.5e12,
  wordBytes: 2,
};

/** Side of LinkNet's images. Assumption: as for U-Net. */
export const LINKNET_SIDE = 256;

/**
 * BERT on the lengths of a GLUE task; what is padded is the batch, to its longest query.
 * Policy I and two stages are the paper's for it (sections 7.2, 8.7).
 */
function bertOn(
  variant: "base" | "large",
  task: string,
  gpu: GpuConfig,
): DvaNetwork {
  const model = bert({ variant, weights: shapesOnly() });
  const lengths = lengthSampler(task);
  const cost = new GpuCost(gpu);
  const tokens = Math.round(TASKS[task].tokens.mean);
  return {
    model,
    whole: model,
    typical: { tokens: new Array<number>(tokens).fill(1) },
    cost,
    profile: typicalProfile(cost, { tokens }),
    request(prng) {
      const { source } = lengths.sample(prng);
      const input: BertInput = { tokens: new Array<number>(source).fill(1) };
      return { model, input, arrivalNs: 0 };
    },
    policy: "I",
    stages: 2,
  };
}

const weights = shapesOnly();

const MAKERS: Readonly<Record<string, () => DvaNetwork>> = {
  "U-Net": () =>
    imageNetwork(unet({ size: UNET_SIDE, padding: "same", weights }), "II+III"),
  "LinkNet": () =>
    imageNetwork(linknet({ size: LINKNET_SIDE, weights }), "II+III"),
  "VGG-19": () => imageNetwork(vgg19({ weights }), "III"),
  "ResNet-152": () => imageNetwork(resnet152({ weights }), "III"),
};

const made = new Map<string, DvaNetwork>();

/**
 * A network by name; BERT's name the GLUE task whose lengths it serves: "BERT base, RTE", with ", f16" on tensor cores.
 * @throws RangeError on a name that is not one
 */
export function network(name: string): DvaNetwork {
  let found = made.get(name);
  if (found === undefined) {
    const [, variant, task, half] =
      /^BERT (base|large), ([^,]+)(, f16)?$/.exec(name) ?? [];
    if (task) {
      found = bertOn(
        variant as "base" | "large",
        `glue.${task.toLowerCase()}`,
        half ? TENSOR_CORES : TITAN_RTX,
      );
    } else if (name in MAKERS) found = MAKERS[name]();
    else throw new RangeError(`No network "${name}"`);
    made.set(name, found);
  }
  return found;
}

/** Table 1, BERT with the lengths of the evaluation's default workload. */
export const NETWORKS: readonly string[] = [
  "U-Net",
  "LinkNet",
  "BERT base, RTE",
  "BERT large, RTE",
  "VGG-19",
  "ResNet-152",
];

/** Those with operator diversity (section 8.1). */
export const WITH_OPERATOR_DIVERSITY: readonly string[] = [
  "LinkNet",
  "U-Net",
];

/** GLUE tasks whose lengths there are, of the paper's ten workloads. */
export const GLUE_TASKS: readonly string[] = ["RTE", "SST-2", "MRPC", "CoLA"];
