/** The networks of DVABatch's evaluation on its GPU, and how each is served. */
import type { Prng } from "../../src/base/prng.ts";
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { typicalProfile } from "../../src/cost/typical_profile.ts";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../src/graph/model.ts";
import { bert, type BertInput } from "../../src/models/bert.ts";
import { resnet50 } from "../../src/models/resnet.ts";
import { unet } from "../../src/models/unet.ts";
import type { DvaBatchOptions } from "../../src/policy/dvabatch/dvabatch.ts";
import type { Profile } from "../../src/policy/profile.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { lengthSampler, TASKS } from "../../src/workload/lengths.ts";
import { withoutImages } from "../reproduce/layer_model.ts";

export interface DvaNetwork {
  readonly name: string;
  readonly workload: string;
  readonly cost: SharedCost;
  /** What policies plan by. */
  readonly profile: Profile;
  request(prng: Prng): VirtualArrival;
  /** Policy and stages that the paper gives a model with these diversities (sections 7.2, 8.7). */
  readonly options: DvaBatchOptions;
}

/** A network of one image per request. */
function imageNetwork(
  name: string,
  network: Model,
  options: DvaBatchOptions,
  workload = "",
): DvaNetwork {
  const { model, cellOf } = withoutImages(network);
  const gpu = new GpuCost(TITAN_RTX);
  const cost: SharedCost = {
    latencyNs: (cell, rows) => gpu.latencyNs(cellOf(cell), rows),
    demand: (cell, rows) => gpu.demand(cellOf(cell), rows),
  };
  return {
    name,
    workload,
    cost,
    profile: (cell, rows) => cost.latencyNs(cell, rows),
    request: () => ({ model, input: {}, arrivalNs: 0 }),
    options,
  };
}

/**
 * Side of U-Net's images. Assumption: the paper gives none; of this size 64, its largest batch, take about
 * its QoS target of 200 ms on the device.
 */
const UNET_SIDE = 128;

/**
 * BERT base on the lengths of a GLUE task; what is padded is the batch, to its longest query.
 * Policy I and two stages are the paper's for it (sections 7.2, 8.7).
 */
function bertOn(task: string): DvaNetwork {
  const model = bert({ weights: shapesOnly() });
  const lengths = lengthSampler(task);
  const cost = new GpuCost(TITAN_RTX);
  const { mean } = TASKS[task].tokens;
  return {
    name: "BERT base",
    workload: `lengths of ${lengths.name}`,
    cost,
    profile: typicalProfile(cost, { tokens: Math.round(mean) }),
    request(prng) {
      const { source } = lengths.sample(prng);
      const input: BertInput = { tokens: new Array<number>(source).fill(1) };
      return { model, input, arrivalNs: 0 };
    },
    options: { policy: "I", stages: 2 },
  };
}

/** Every network by the name that the command line takes. */
export const DVA_NETWORKS: Readonly<Record<string, () => DvaNetwork>> = {
  "bert-rte": () => bertOn("glue.rte"),
  "bert-sst2": () => bertOn("glue.sst-2"),
  "bert-mrpc": () => bertOn("glue.mrpc"),
  /** Load diversity only, as ResNet-152 in the paper. */
  resnet50: () =>
    imageNetwork("ResNet-50", resnet50({ weights: shapesOnly() }), {
      policy: "III",
      stages: 4,
    }),
  /** Operator and load diversity. */
  unet: () =>
    imageNetwork(
      "U-Net",
      unet({ size: UNET_SIDE, padding: "same", weights: shapesOnly() }),
      { policy: "II+III", stages: 4 },
      `${UNET_SIDE} x ${UNET_SIDE}`,
    ),
};
