/**
 * Machines by name. Figures are those of the sources named in `source`; what these leave open is marked
 * "Assumption". For all of them: bursts of 64 bytes; where no latency is published, LazyBatching's 100
 * cycles; `K`, `M` of on-chip memories are binary.
 */
import { describe } from "../base/describe.ts";
import type { NpuConfig } from "./config.ts";

const MIB = 1024 * 1024;
const KIB = 1024;

/**
 * Published machines by name; `source` of each says where its figures are from and what is assumed.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { PRESETS } from "@shoal/core/npu";
 *
 * assert.deepEqual(PRESETS["tpu-v1"].array, { rows: 256, cols: 256 });
 * assert.match(PRESETS["tpu-v1"].source, /ISCA 2017/);
 * ```
 */
export const PRESETS = {
  lazybatching: {
    name: "LazyBatching NPU",
    source:
      "Choi, Kim, Rhu, LazyBatching, HPCA 2021, Table I: 128x128, 700 MHz, 8 and 4 MB for " +
      "activations and weights, 8 channels, 100 cycles, 360 GB/s; the model follows the TPU (section V). " +
      "Assumption: bf16 and 128 vector lanes (one per column; the TPU v2 core has 128x128, 700 MHz and " +
      "bf16), 4 MiB of accumulators (TPU v1), weight-stationary with overlapped folds (TPU v1's weight FIFO)",
    array: { rows: 128, cols: 128 },
    dataflow: "ws",
    mode: "overlapped",
    clockHz: 700_000_000,
    format: "bf16",
    activationBytes: 8 * MIB,
    weightBytes: 4 * MIB,
    accumulatorBytes: 4 * MIB,
    vectorLanes: 128,
    dram: {
      channels: 8,
      latencyCycles: 100,
      bytesPerSecond: 360_000_000_000,
      burstBytes: 64,
    },
  },
  "tpu-v1": {
    name: "TPU v1",
    source:
      "Jouppi et al., In-Datacenter Performance Analysis of a Tensor Processing Unit, ISCA 2017, " +
      "section 2 and Table 2: 256x256 int8 with 32-bit sums, 700 MHz, 24 MiB unified buffer, 4 MiB " +
      "accumulators (4096x256, double-buffered), weight FIFO of four 64 KiB tiles, paths of 256 bytes, " +
      "34 GB/s. Assumption: two channels of DDR3-2133 (they give 34 GB/s), 256 vector lanes (the paths), " +
      "100 cycles, and activations over the same DRAM, which on the chip come from the host",
    array: { rows: 256, cols: 256 },
    dataflow: "ws",
    mode: "overlapped",
    clockHz: 700_000_000,
    format: "int8",
    activationBytes: 24 * MIB,
    weightBytes: 256 * KIB,
    accumulatorBytes: 4 * MIB,
    vectorLanes: 256,
    dram: {
      channels: 2,
      latencyCycles: 100,
      bytesPerSecond: 34_000_000_000,
      burstBytes: 64,
    },
  },
  "tpu-v2": {
    name: "TPU v2 core",
    source:
      "Jouppi et al., A Domain-Specific Supercomputer for Training Deep Neural Networks, CACM 2020, and " +
      "Norrie et al., The Design Process for Google's Training Chips: TPUv2 and TPUv3, IEEE Micro 2021: " +
      "per core one 128x128 bf16 array with f32 sums at 700 MHz, 16 MiB vector memory, 128x8 vector lanes; " +
      "700 GB/s for two cores. Assumption: 5 MiB of the vector memory for weights, 1 MiB for sums, the " +
      "rest for activations; 8 channels (an HBM stack's), 100 cycles",
    array: { rows: 128, cols: 128 },
    dataflow: "ws",
    mode: "overlapped",
    clockHz: 700_000_000,
    format: "bf16",
    activationBytes: 10 * MIB,
    weightBytes: 5 * MIB,
    accumulatorBytes: 1 * MIB,
    vectorLanes: 1024,
    dram: {
      channels: 8,
      latencyCycles: 100,
      bytesPerSecond: 350_000_000_000,
      burstBytes: 64,
    },
  },
  "eyeriss-like": {
    name: "Eyeriss-like",
    source:
      "Chen, Krishna, Emer, Sze, Eyeriss, JSSC 2017, for the sizes: 12x14 PEs, 16-bit words, 200 MHz, " +
      "108 KB buffer of which 100 for ifmaps and partial sums and 8 for filters, 64-bit link at 90 MHz. " +
      "Its row-stationary dataflow is not modelled: weight-stationary without overlap instead, as in " +
      "SCALE-Sim's eyeriss.cfg. Assumption: 64 of the 100 KB for activations, 36 for 32-bit sums (the " +
      "chip's have 16), 14 vector lanes (one per column), 100 cycles; bf16 stands for the 16-bit words",
    array: { rows: 12, cols: 14 },
    dataflow: "ws",
    mode: "causal",
    clockHz: 200_000_000,
    format: "bf16",
    activationBytes: 64 * KIB,
    weightBytes: 8 * KIB,
    accumulatorBytes: 36 * KIB,
    vectorLanes: 14,
    dram: {
      channels: 1,
      latencyCycles: 100,
      bytesPerSecond: 720_000_000,
      burstBytes: 64,
    },
  },
  gemmini: {
    name: "Gemmini default",
    source:
      "Gemmini's GemminiConfigs.defaultConfig (github.com/ucb-bar/gemmini, commit 8c3f992): 16x16 int8 " +
      "with 32-bit sums, weight- and output-stationary, 256 KiB scratchpad, 64 KiB accumulator, requests " +
      "of 64 bytes over a 128-bit bus; Genc et al., Gemmini, DAC 2021: 1 GHz. Assumption: the scratchpad " +
      "split evenly, weight-stationary, a memory that keeps up with the bus (16 bytes per cycle), 16 " +
      "vector lanes (one per column), 100 cycles",
    array: { rows: 16, cols: 16 },
    dataflow: "ws",
    mode: "overlapped",
    clockHz: 1_000_000_000,
    format: "int8",
    activationBytes: 128 * KIB,
    weightBytes: 128 * KIB,
    accumulatorBytes: 64 * KIB,
    vectorLanes: 16,
    dram: {
      channels: 1,
      latencyCycles: 100,
      bytesPerSecond: 16_000_000_000,
      burstBytes: 64,
    },
  },
} as const satisfies Record<string, NpuConfig>;

/** Names of the presets. */
export type PresetName = keyof typeof PRESETS;

/**
 * A published machine, to be used as it is or as a base.
 * @param name one of PresetName
 * @throws RangeError listing the presets if `name` is none of them
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createNpu, preset } from "@shoal/core/npu";
 *
 * const faster = createNpu({ ...preset("tpu-v2"), clockHz: 940_000_000 });
 * assert.equal(faster.config.format, "bf16");
 * assert.throws(() => preset("tpu-v9"), /known: lazybatching, tpu-v1/);
 * ```
 */
export function preset(name: string): NpuConfig {
  if (!Object.hasOwn(PRESETS, name)) {
    throw new RangeError(
      `unknown preset ${describe(name)}; known: ${
        Object.keys(PRESETS).join(", ")
      }`,
    );
  }
  return PRESETS[name as PresetName];
}
