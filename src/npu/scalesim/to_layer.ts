/** SCALE-Sim's files in the project's own terms: layers for the event level, a machine around a `.cfg`. */
import type { NpuConfig } from "../config.ts";
import { convGemm, outputShape } from "../conv_geometry.ts";
import type { LayerSpec } from "../layer_spec.ts";
import type { ScaleSimConfig } from "./config_cfg.ts";
import type { TopologyLayer } from "./topology_csv.ts";

/** Output sizes are rounded down here, as every framework does; the tool rounds up. */
export function layerSpecOf(
  { name, gemm, geometry, copies }: TopologyLayer,
  batch: number,
): LayerSpec {
  const plain = { name, vector: [], extraReadWords: 0, extraWriteWords: 0 };
  if (geometry === undefined) {
    return {
      ...plain,
      gemms: [{ gemm: { ...gemm, m: batch * gemm.m }, copies }],
    };
  }
  const exact = convGemm(geometry, "floor");
  const { h, w } = outputShape(geometry, "floor");
  const window = {
    batch,
    height: geometry.ifmapH,
    width: geometry.ifmapW,
    channels: geometry.channelsIn,
    filterH: geometry.filterH,
    filterW: geometry.filterW,
    strideH: geometry.strideH,
    strideW: geometry.strideW,
    outputH: h,
    outputW: w,
  };
  return {
    ...plain,
    gemms: [{ gemm: { ...exact, m: batch * exact.m }, copies, window }],
  };
}

/**
 * A machine with the array and buffers of a `.cfg`; clock, vector unit and accumulators are those of
 * `base`. Words are one byte, as in the tool. In USER mode the three ports' bandwidths add up.
 */
export function npuConfigOf(
  config: ScaleSimConfig,
  base: NpuConfig,
): NpuConfig {
  const { ifmapKb, filterKb, ofmapKb } = config.buffers;
  const bytesPerSecond = config.bandwidthWords === undefined
    ? base.dram.bytesPerSecond
    : 3 * config.bandwidthWords * base.clockHz;
  return {
    ...base,
    name: config.runName,
    source:
      `a SCALE-Sim configuration; clock, vector unit, accumulators: ${base.name}`,
    array: config.array,
    dataflow: config.dataflow,
    format: "int8",
    activationBytes: 1024 * (ifmapKb + ofmapKb),
    weightBytes: 1024 * filterKb,
    dram: { ...base.dram, bytesPerSecond },
  };
}
