/** The systolic-array model: machines, networks, latency profiles. @module */
export { checkConfig } from "./npu/config.ts";
export type { NpuConfig, NumberFormat } from "./npu/config.ts";
export { createNpu } from "./npu/npu.ts";
export type { NetworkTime, Npu } from "./npu/npu.ts";
export { preset, PRESETS } from "./npu/presets.ts";
export type { PresetName } from "./npu/presets.ts";
export {
  loadProfile,
  profileModel,
  profileTable,
  saveProfile,
} from "./npu/profile.ts";
export type { LatencyProfile, ProfileOptions } from "./npu/profile.ts";
