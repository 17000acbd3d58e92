/** The networks of Table 5 by the paper's abbreviations, and their latencies by batch size on its GPU. */
import type { CurvePoints } from "../../../src/base/curve.ts";
import { GpuCost, TITAN_RTX } from "../../../src/cost/gpu_cost.ts";
import { RESNET_TITAN_RTX } from "../../../src/cost/published.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import type { Model } from "../../../src/graph/model.ts";
import { inceptionV4 } from "../../../src/models/inception_v4.ts";
import { resnet101, resnet152, resnet50 } from "../../../src/models/resnet.ts";
import { vgg16, vgg19 } from "../../../src/models/vgg.ts";
import { cellLayers } from "../../../src/npu/cell_layers.ts";
import { shapesOnly, type WeightSource } from "../../../src/tensor/weights.ts";
import { layerModel } from "../layer_model.ts";

interface Network {
  build(options: { weights: WeightSource }): Model;
  /** Table 1: [batch size, ns]; the others' latencies are those of the tile model. */
  readonly published?: CurvePoints;
}

const TABLE = {
  Incv4: { build: inceptionV4 },
  Res50: { build: resnet50, published: RESNET_TITAN_RTX.resnet50 },
  Res101: { build: resnet101, published: RESNET_TITAN_RTX.resnet101 },
  Res152: { build: resnet152, published: RESNET_TITAN_RTX.resnet152 },
  VGG16: { build: vgg16 },
  VGG19: { build: vgg19 },
} as const satisfies Readonly<Record<string, Network>>;

export type NetworkName = keyof typeof TABLE;

export const NETWORKS: Readonly<Record<NetworkName, Network>> = TABLE;
export const NETWORK_NAMES = Object.keys(TABLE) as NetworkName[];

/** One cell stands for a whole network: policies of this paper batch nothing smaller. */
export const MODEL = layerModel("network", ["network"]);
export const CELL = MODEL.cells[0];

const tiles = new Map<NetworkName, SharedCost>();

/** A network on the tile model, all its layers as one cell; every cell of these networks runs once. */
export function tileCost(network: NetworkName): SharedCost {
  let cost = tiles.get(network);
  if (cost === undefined) {
    const { cells } = NETWORKS[network].build({ weights: shapesOnly() });
    cost = new GpuCost(
      TITAN_RTX,
      (_cell, rows) => cells.flatMap((cell) => cellLayers(cell, rows)),
    );
    tiles.set(network, cost);
  }
  return cost;
}

const SIZES = [1, 2, 4, 8, 16, 32];

/** Latency by batch size, alone on the device: Table 1's where it has it, else the tile model's. */
export function latencyPoints(network: NetworkName): CurvePoints {
  return NETWORKS[network].published ??
    SIZES.map((rows) => [rows, tileCost(network).latencyNs(CELL, rows)]);
}
