/** The networks of LazyBatching's evaluation (Table II) on its NPU (Table I). */
import type { Prng } from "../../src/base/prng.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import type { VirtualArrival } from "../../src/engine/virtual_driver.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import { preset } from "../../src/npu/presets.ts";
import { profileModel, profileTable } from "../../src/npu/profile.ts";
import { layerModel } from "./layer_model.ts";

export interface Network {
  readonly name: string;
  /** Where lengths come from; empty for fixed inputs. */
  readonly workload: string;
  /** Latencies of its nodes, which is also the profile that policies get. */
  readonly cost: CostModel;
  /** Steps that a decoder is expected to take. */
  readonly decTimesteps: number;
  /** One request, arriving at 0. */
  request(prng: Prng): VirtualArrival;
  readonly published: {
    /** Table II. */
    readonly aloneMs: number;
    /** Section VI-A: latency and throughput of the best graph batching over LazyB's. */
    readonly latency: number;
    readonly throughput: number;
    /** Section VI-B: LazyB violates no SLA down to this one. */
    readonly slaMs: number;
  };
}

/** How folds of weights are accounted for; the preset's is "overlapped". */
export type NpuMode = "overlapped" | "causal";

function resnet(mode: NpuMode): Network {
  const measured = profileModel(
    createNpu({ ...preset("lazybatching"), mode }),
    (batch) => resnet50(batch),
    { model: "ResNet-50" },
  );
  const model = layerModel("resnet50", measured.nodes);
  return {
    name: "ResNet-50",
    workload: "",
    cost: new TableCost(profileTable(measured)),
    decTimesteps: 1,
    request: () => ({ model, input: {}, arrivalNs: 0 }),
    published: { aloneMs: 1.1, latency: 5.3, throughput: 1.1, slaMs: 20 },
  };
}

/** Every network by the name that the command line takes. */
export const NETWORKS: Readonly<Record<string, (mode: NpuMode) => Network>> = {
  resnet50: resnet,
};

/** A device on which batching neither gains nor loses: n rows take n times what one of 64 takes. */
export function flat({ cost }: Network): CostModel {
  return {
    latencyNs: (cell, rows) => Math.round(cost.latencyNs(cell, 64) / 64 * rows),
  };
}
