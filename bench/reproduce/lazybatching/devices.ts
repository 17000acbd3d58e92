/** Devices of LazyBatching's evaluation, as data, and variants of them that separate causes. */
import type { CostModel } from "../../../src/cost/cost_model.ts";
import {
  type GpuConfig,
  GpuCost,
  TITAN_RTX,
} from "../../../src/cost/gpu_cost.ts";
import { NpuCost } from "../../../src/cost/npu_cost.ts";
import { type Extent, isUniform } from "../../../src/graph/cache.ts";
import type { Cell } from "../../../src/graph/cell.ts";
import type { NpuConfig } from "../../../src/npu/config.ts";
import { createNpu } from "../../../src/npu/npu.ts";
import { preset } from "../../../src/npu/presets.ts";

/** A device by what it is made of; JSON, so that it can be part of a key. */
export type Device = {
  /** "npu": Table I's; "gpu": `TITAN_XP`. */
  readonly kind: "npu" | "gpu";
  /** NPU: how folds of weights are accounted for; default: the preset's, "overlapped". */
  readonly mode?: NpuConfig["mode"];
  /** NPU: format of numbers; default: the preset's, "bf16". */
  readonly format?: NpuConfig["format"];
  /** GPU: output rows and columns of a tile; default: 64. */
  readonly tile?: number;
  /** All times are scaled by one factor until a request alone takes this, on average. */
  readonly aloneMs?: number;
  /** All times are this many times as long. */
  readonly slower?: number;
  /** Batching neither gains nor loses: a row takes a 64th of what 64 like it take. */
  readonly flat?: boolean;
};

/** The NPU of Table I. */
export const TABLE_I = preset("lazybatching");

/**
 * The GPU of section VI-C.
 * Assumption: the share of the peak that an SM reaches is the Titan RTX's, as no time on a Titan Xp is published.
 */
export const TITAN_XP: GpuConfig = {
  ...TITAN_RTX,
  name: "Titan Xp",
  source:
    "NVIDIA, Titan Xp: 3840 CUDA cores (30 SMs of 128), 12.1 TFLOPS in f32, 547.6 GB/s; tiles, efficiency and " +
    "least time of a kernel as for the Titan RTX",
  sms: 30,
  flopsPerS: 12.1e12,
  bytesPerS: 547.6e9,
};

/** @param cellOf the network's cell that a cell stands for */
export function costOn(
  { kind, mode, format, tile }: Device,
  cellOf: (cell: Cell) => Cell,
): CostModel {
  const cost = kind === "gpu"
    ? new GpuCost({ ...TITAN_XP, ...(tile !== undefined && { tile }) })
    : new NpuCost(createNpu({
      ...TABLE_I,
      ...(mode !== undefined && { mode }),
      ...(format !== undefined && { format }),
    }));
  return {
    latencyNs: (cell, rows, extents) =>
      cost.latencyNs(cellOf(cell), rows, extents),
  };
}

/** What a device's options make of its costs. */
export function modified(
  cost: CostModel,
  { flat = false, slower = 1 }: Device,
  scale: number,
): CostModel {
  const factor = scale * slower;
  const scaled: CostModel = factor === 1 ? cost : {
    latencyNs: (cell, rows, extents) =>
      Math.round(factor * cost.latencyNs(cell, rows, extents)),
  };
  return flat ? flattened(scaled) : scaled;
}

function flattened(cost: CostModel): CostModel {
  const share = (cell: Cell, extent?: Extent) =>
    cost.latencyNs(cell, 64, extent) / 64;
  return {
    latencyNs(cell, rows, extents) {
      if (extents === undefined || isUniform(extents)) {
        return Math.round(share(cell, extents) * rows);
      }
      return Math.round(
        extents.reduce((sum, extent) => sum + share(cell, extent), 0),
      );
    },
  };
}

/** A device in a few words. */
export function deviceTitle(device: Device): string {
  const words = [
    ...(device.kind === "gpu" ? [TITAN_XP.name] : []),
    device.aloneMs === undefined
      ? "as modelled"
      : `scaled to ${device.aloneMs} ms alone`,
  ];
  if (device.slower !== undefined) words.push(`${device.slower}x slower`);
  if (device.mode !== undefined) words.push(`${device.mode} folds`);
  if (device.format !== undefined) words.push(device.format);
  if (device.tile !== undefined) words.push(`tiles of ${device.tile}`);
  if (device.flat) words.push("flat");
  return words.join(", ");
}
