/** The systolic-array model: machines, networks, latency profiles. @module */
export { checkConfig } from "./npu/config.ts";
export type { NpuConfig, NumberFormat } from "./npu/config.ts";
export type { ScratchpadTraffic } from "./npu/closed_form.ts";
export type { ArrayShape, Dataflow, Gemm } from "./npu/dataflow.ts";
export type {
  GemmWork,
  LayerSpec,
  MapWindow,
  VectorWork,
} from "./npu/layer_spec.ts";
export type { DramConfig } from "./npu/memory/dram.ts";
export type { Bound, LayerTime } from "./npu/memory/layer_time.ts";
export type { OnChip, Tiling } from "./npu/memory/tiling.ts";
export { createNpu } from "./npu/npu.ts";
export type { NetworkTime, Npu } from "./npu/npu.ts";
export { preset, PRESETS } from "./npu/presets.ts";
export type { PresetName } from "./npu/presets.ts";
export {
  loadProfile,
  profileModel,
  profileTable,
  saveProfile,
  totalNs,
} from "./npu/profile.ts";
export type { LatencyProfile, ProfileOptions } from "./npu/profile.ts";
