/** Machines by name. Figures from the named sources; what they leave open is marked as assumed. */
import type { NpuConfig } from "./config.ts";

const MIB = 1024 * 1024;
const KIB = 1024;

export const PRESETS = {
  lazybatching: {
    name: "LazyBatching NPU",
    source:
      "Choi, Kim, Rhu, LazyBatching, HPCA 2021, Table I. Assumed: bf16 and 128 vector lanes " +
      "(those of the TPU v2 core it resembles: 128x128, 700 MHz), accumulators of TPU v1's 4 MiB, " +
      "64-byte bursts, weight-stationary with overlapped folds (the patents it builds on)",
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
      "Jouppi et al., ISCA 2017: 256x256 int8, 700 MHz, 24 MiB unified buffer, 4 MiB " +
      "accumulators, 34 GB/s DDR3-2133 in two channels, weight FIFO of four 64 KiB tiles. Assumed: " +
      "256 vector lanes, 100 cycles latency",
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
      "Norrie et al., The Design Process for Google's Training Chips, IEEE Micro 2021; Jouppi " +
      "et al., CACM 2020: 128x128 bf16, 700 MHz, 16 MiB vector memory per core, 700 GB/s HBM per " +
      "chip of two cores, 128x8 vector lanes. Assumed: a third of the vector memory for weights, " +
      "100 cycles latency",
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
      "Chen et al., Eyeriss, JSSC 2017, for the sizes only (12x14 PEs, 200 MHz, 108 KiB buffer); " +
      "its row-stationary dataflow is not modelled, so: SCALE-Sim's eyeriss.cfg, weight-stationary " +
      "with 36 KiB per operand. Assumed: 1.6 GB/s in one channel, no overlap",
    array: { rows: 12, cols: 14 },
    dataflow: "ws",
    mode: "causal",
    clockHz: 200_000_000,
    format: "int8",
    activationBytes: 72 * KIB,
    weightBytes: 36 * KIB,
    accumulatorBytes: 36 * KIB,
    vectorLanes: 14,
    dram: {
      channels: 1,
      latencyCycles: 100,
      bytesPerSecond: 1_600_000_000,
      burstBytes: 64,
    },
  },
  gemmini: {
    name: "Gemmini default",
    source:
      "Genc et al., Gemmini, DAC 2021, default configuration: 16x16 int8, 256 KiB scratchpad, " +
      "64 KiB accumulator, 1 GHz, 16-byte DMA bus. Assumed: the scratchpad split evenly, " +
      "weight-stationary, 16 lanes, 100 cycles latency",
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

export type PresetName = keyof typeof PRESETS;

/** Throws a RangeError listing the presets if `name` is none of them. */
export function preset(name: string): NpuConfig {
  if (!Object.hasOwn(PRESETS, name)) {
    throw new RangeError(
      `unknown preset "${name}"; known: ${Object.keys(PRESETS).join(", ")}`,
    );
  }
  return PRESETS[name as PresetName];
}
