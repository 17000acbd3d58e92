/**
 * A GPU's times from first principles: every layer is a kernel whose output is cut into tiles, one per
 * streaming multiprocessor (SM) at a time. The last wave of tiles leaves SMs idle, which is what a larger
 * batch, or a batch beside it, makes use of.
 * Source of the execution model: NVIDIA, "Matrix Multiplication Background User's Guide" (tiles, wave
 * quantization); what cuBLAS and cuDNN choose is not modelled: tiles have one size.
 */
import {
  checkedOptions,
  type Checks,
  finitePositive,
  ofType,
  positiveInteger,
} from "../base/checked_options.ts";
import { type Extent, type Extents, isUniform } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import { cellLayers } from "../npu/cell_layers.ts";
import type { LayerSpec } from "../npu/layer_spec.ts";
import { mapWords } from "../npu/layer_spec.ts";
import type { SharedCost } from "./shared_cost.ts";

/** A GPU, as far as `GpuCost` knows it. Numbers are positive. */
export interface GpuConfig {
  /** For messages and reports. */
  name: string;
  /** Where the figures are from, and what is assumed. */
  source: string;
  /** Streaming multiprocessors, each with a tile at a time; an integer. */
  sms: number;
  /** Peak of the format that is computed in, operations per second (a multiply-accumulate is two). */
  flopsPerS: number;
  /** Share of the peak that an SM reaches while it has a tile. */
  efficiency: number;
  /** Of the memory, per second. */
  bytesPerS: number;
  /** Bytes of a number. */
  wordBytes: number;
  /** Output rows and columns of a tile; an integer. */
  tile: number;
  /** Least time of a kernel, ns. */
  kernelNs: number;
}

const GPU_CHECKS: Checks<GpuConfig> = {
  name: ofType("string"),
  source: ofType("string"),
  sms: positiveInteger,
  flopsPerS: finitePositive,
  efficiency: finitePositive,
  bytesPerS: finitePositive,
  wordBytes: finitePositive,
  tile: positiveInteger,
  kernelNs: finitePositive,
};

/**
 * The GPU of E2bird and DVABatch.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { GpuCost, TITAN_RTX } from "@shoal/core/simulate";
 *
 * const half = new GpuCost({ ...TITAN_RTX, name: "half a Titan RTX", sms: 36, flopsPerS: 8.15e12 });
 * assert(half instanceof GpuCost);
 * assert.match(TITAN_RTX.source, /72 SMs, 16.3 TFLOPS/);
 * ```
 */
export const TITAN_RTX: GpuConfig = {
  name: "Titan RTX",
  source:
    "NVIDIA, Turing GPU Architecture whitepaper, and E2bird, Table 5: 72 SMs, 16.3 TFLOPS in f32 (4608 " +
    "cores at 1.77 GHz), 672 GB/s. Assumption: f32; tiles of 64 x 64, the smallest of the guide, as " +
    "libraries choose small ones for small batches. " +
    "Assumption: 42.4 % of the peak, so that ResNet-50 takes the 40.1 ms at 32 of E2bird's Table 1; at " +
    "least 3 us per kernel",
  sms: 72,
  flopsPerS: 16.3e12,
  efficiency: 0.424,
  bytesPerS: 672e9,
  wordBytes: 4,
  tile: 64,
  kernelNs: 3000,
};

/** What a kernel takes of the device. */
export interface KernelTime {
  readonly ns: number;
  /** Share of the device that it fills while it runs, in (0, 1]. */
  readonly demand: number;
}

/** Time of one layer alone on the device, as one kernel. */
export function kernelTime(layer: LayerSpec, gpu: GpuConfig): KernelTime {
  const tileNs = 2e9 * gpu.tile ** 2 * gpu.sms /
    (gpu.flopsPerS * gpu.efficiency);
  let computeNs = 0;
  let filledNs = 0;
  let words = layer.extraReadWords + layer.extraWriteWords;
  for (const { gemm: { m, n, k }, copies, window } of layer.gemms) {
    const tiles = copies * Math.ceil(m / gpu.tile) * Math.ceil(n / gpu.tile);
    const waves = Math.ceil(tiles / gpu.sms);
    computeNs += waves * k * tileNs;
    filledNs += tiles / gpu.sms * k * tileNs;
    const input = window
      ? mapWords(window, window.batch * window.outputH, window.channels)
      : m * k;
    words += copies * (input + k * n + m * n);
  }
  // A layer without products reads and writes every element; behind products that happens on the way.
  if (layer.gemms.length === 0) {
    for (const { elements } of layer.vector) words += 2 * elements;
  }
  const memoryNs = words * gpu.wordBytes / gpu.bytesPerS * 1e9;
  const ns = Math.max(computeNs, memoryNs, gpu.kernelNs);
  return { ns, demand: Math.max(filledNs, memoryNs) / ns };
}

/** Layers of a batch of a cell, for costs that are computed from them. */
export type LayersOf = (
  cell: Cell,
  rows: number,
  extents?: Extents,
) => readonly LayerSpec[];

/**
 * Costs of cells on a GPU whose streams share it: every layer is a kernel whose output is cut into tiles, one per SM at
 * a time. Rows of one extent attend in one kernel.
 * Source of the execution model: NVIDIA, "Matrix Multiplication Background User's Guide" (tiles, wave quantization);
 * what cuBLAS and cuDNN choose is not modelled: tiles have one size.
 *
 * @example A larger batch fills the device better
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { GpuCost, TITAN_RTX } from "@shoal/core/simulate";
 *
 * const [step] = lstm({ hidden: 256, vocabulary: 100 }).cells;
 * const cost = new GpuCost(TITAN_RTX);
 * assert(cost.latencyNs(step, 64) < 64 * cost.latencyNs(step, 1));
 * assert(cost.demand(step, 1) < cost.demand(step, 1024));
 * ```
 */
export class GpuCost implements SharedCost {
  readonly #gpu: GpuConfig;
  readonly #layersOf: LayersOf;
  readonly #known = new WeakMap<Cell, Map<number | string, KernelTime>>();

  /**
   * Costs on one machine, kept by cell, rows and extents.
   * @param gpu the machine, copied
   * @param layersOf layers of a batch; default: the cell's operators
   * @throws TypeError or RangeError on a field that is not one
   */
  constructor(
    gpu: GpuConfig,
    layersOf: LayersOf = cellLayers,
  ) {
    ofType("function")("layersOf", layersOf);
    this.#gpu = checkedOptions(
      "GpuCost",
      gpu,
      GPU_CHECKS,
      Object.keys(GPU_CHECKS) as (keyof GpuConfig)[],
    );
    this.#layersOf = layersOf;
  }

  /** Time of a batch alone on the device, ns; see `CostModel.latencyNs`. */
  latencyNs(cell: Cell, rows: number, extents?: Extents): number {
    return this.#time(cell, rows, extents).ns;
  }

  /** Share of the device that a batch fills when it runs alone, in (0, 1]. */
  demand(cell: Cell, rows: number, extents?: Extents): number {
    return this.#time(cell, rows, extents).demand;
  }

  #time(cell: Cell, rows: number, extents?: Extents): KernelTime {
    const key = extents === undefined ? rows : keyOf(rows, extents);
    let byRows = this.#known.get(cell);
    if (byRows === undefined) this.#known.set(cell, byRows = new Map());
    let time = byRows.get(key);
    if (time === undefined) {
      let ns = 0;
      let filledNs = 0;
      for (const layer of this.#layersOf(cell, rows, extents)) {
        const kernel = kernelTime(layer, this.#gpu);
        ns += kernel.ns;
        filledNs += kernel.ns * kernel.demand;
      }
      time = ns === 0
        ? { ns: 0, demand: 1 }
        : { ns: Math.round(ns), demand: Math.min(1, filledNs / ns) };
      byRows.set(key, time);
    }
    return time;
  }
}

/** Batches of one key cost the same: the order of rows is of no matter. */
function keyOf(rows: number, extents: Extents): string {
  const key = ({ length, caches }: Extent): string =>
    `${length}:${caches.map(({ seen }) => seen)}`;
  if (isUniform(extents)) return `${rows} of ${key(extents)}`;
  const keys = extents.map(key);
  return keys.every((other) => other === keys[0])
    ? `${rows} of ${keys[0]}`
    : keys.sort().join();
}
