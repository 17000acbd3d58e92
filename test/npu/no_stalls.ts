import type { DramTiming } from "../../src/npu/memory/dram.ts";

/** An ideal memory: no latency, no transfer time. For comparing levels. */
export const NO_STALLS: DramTiming = {
  ticksPerCycle: 1,
  latencyTicks: 0,
  transferTicks: () => 0,
  ideal: true,
};
