/** The networks of DVABatch's evaluation on its GPU, and how each is served. */
import type { Prng } from "../../src/base/prng.ts";
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { typicalProfile } from "../../src/cost/typical_profile.ts";
import type { VirtualArrival } from "../../src/engine/virtual_driver.ts";
import { bert, type BertInput } from "../../src/models/bert.ts";
import type { LayerSpec } from "../../src/npu/layer_spec.ts";
import { conv, matmul, pool } from "../../src/npu/layers.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import type { DvaBatchOptions } from "../../src/policy/dvabatch.ts";
import type { Profile } from "../../src/policy/profile.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { lengthSampler, TASKS } from "../../src/workload/lengths.ts";
import { layerModel } from "./layer_model.ts";

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

function layered(
  name: string,
  layersOf: (batch: number) => readonly LayerSpec[],
  options: DvaBatchOptions,
  workload = "",
): DvaNetwork {
  const names = layersOf(1).map(({ name }) => name);
  const index = new Map(names.map((layer, i) => [layer, i]));
  const byRows = new Map<number, readonly LayerSpec[]>();
  const model = layerModel(name, names);
  const cost = new GpuCost(TITAN_RTX, (cell, rows) => {
    let layers = byRows.get(rows);
    if (layers === undefined) byRows.set(rows, layers = layersOf(rows));
    return [layers[index.get(cell.name)!]!];
  });
  return {
    name,
    workload,
    cost,
    profile: (cell, rows) => cost.latencyNs(cell, rows),
    request: () => ({ model, input: {}, arrivalNs: 0 }),
    options,
  };
}

/** Side of U-Net's images. */
const UNET_SIDE = 128;
const UNET_WIDTHS = [64, 128, 256, 512, 1024];

/**
 * U-Net (Ronneberger et al., MICCAI 2015), with padded convolutions.
 * Assumption: images of 128 x 128; the paper gives no size, and 64 of them at once, its largest batch,
 * take about its QoS target of 200 ms on the device.
 */
function unet(batch: number): LayerSpec[] {
  const layers: LayerSpec[] = [];
  let side = UNET_SIDE;
  let channels = 1;
  const twice = (name: string, channelsIn: number, width: number) => {
    for (const [half, from] of [channelsIn, width].entries()) {
      layers.push(conv(`${name}.c${half + 1}`, {
        channelsIn: from,
        channelsOut: width,
        height: side,
        width: side,
        filter: 3,
        padding: 1,
        activation: "relu",
      }, batch));
    }
    channels = width;
  };
  UNET_WIDTHS.forEach((width, level) => {
    if (level > 0) {
      layers.push(pool(`down${level}.pool`, {
        channels,
        height: side,
        width: side,
        filter: 2,
        stride: 2,
      }, batch));
      side /= 2;
    }
    twice(`down${level}`, channels, width);
  });
  for (const width of UNET_WIDTHS.toReversed().slice(1)) {
    const name = `up${Math.log2(width / 64)}`;
    // A 2 x 2 convolution transposed, stride 2: every pixel gives four.
    layers.push(matmul(`${name}.transposed`, {
      rows: side * side,
      inputs: channels,
      outputs: 4 * width,
    }, batch));
    side *= 2;
    twice(name, 2 * width, width);
  }
  layers.push(conv("classes", {
    channelsIn: channels,
    channelsOut: 2,
    height: side,
    width: side,
    filter: 1,
  }, batch));
  return layers;
}

/**
 * BERT base on the lengths of a GLUE task; what is padded is the batch, to its longest query.
 * Policy I and two stages are the paper's for it (sections 7.2, 8.7).
 */
function bertOn(task: string): DvaNetwork {
  const model = bert({ weights: shapesOnly() });
  const lengths = lengthSampler(task);
  const cost = new GpuCost(TITAN_RTX);
  const { mean } = TASKS[task]!.tokens;
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
    layered("ResNet-50", (batch) => resnet50(batch), {
      policy: "III",
      stages: 4,
    }),
  /** Operator and load diversity. */
  unet: () =>
    layered(
      "U-Net",
      unet,
      { policy: "II+III", stages: 4 },
      `${UNET_SIDE} x ${UNET_SIDE}`,
    ),
};
