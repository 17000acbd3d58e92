import {
  type GpuConfig,
  GpuCost,
  TITAN_RTX,
} from "../../../src/cost/gpu_cost.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { TableCost } from "../../../src/cost/table_cost.ts";
import { MODELS } from "./datasets.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";

/** Late Batching's GPU. */
export const TITAN_X: GpuConfig = {
  name: "GeForce GTX Titan X",
  source:
    "NVIDIA, GeForce GTX Titan X specifications: 24 SMs of 128 cores at 1.075 GHz (6.6 TFLOPS in f32), 336.5 GB/s. " +
    "Assumption: tiles, the share of the peak and the least time of a kernel as on the Titan RTX",
  sms: 24,
  flopsPerS: 6.6e12,
  efficiency: TITAN_RTX.efficiency,
  bytesPerS: 336.5e9,
  wordBytes: 4,
  tile: TITAN_RTX.tile,
  kernelNs: TITAN_RTX.kernelNs,
};

/**
 * LSTM steps on the Titan X. Assumption: hidden size 1024, as in the paper that followed; the paper says none.
 * Weights of that size are 33 MB, so that costs are those of one cell of it, whatever runs.
 */
export function titanX(): CostModel {
  if (cost === undefined) {
    const [step] = lstm({ hidden: 1024, vocabulary: 1 }).cells;
    const gpu = new GpuCost(TITAN_X);
    cost = { latencyNs: (_cell, rows) => gpu.latencyNs(step, rows) };
  }
  return cost;
}

/** Kept, as the cell's weights take a while to make. */
let cost: CostModel | undefined;

/** The same without steps: linear between 64 and 512 rows, as the V100's table is. */
export function titanXLinear(): CostModel {
  const waves = titanX();
  const [cell] = MODELS.lstm.cells;
  const points = [64, 512].map((rows) =>
    [rows, waves.latencyNs(cell, rows)] as const
  );
  return new TableCost({ "*": points });
}
