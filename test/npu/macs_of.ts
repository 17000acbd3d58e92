import type { LayerSpec } from "../../src/npu/layer_spec.ts";

/** Multiply-accumulates of a layer. */
export function macsOf(layer: LayerSpec): number {
  return layer.gemms.reduce(
    (sum, { gemm, copies }) => sum + copies * gemm.m * gemm.n * gemm.k,
    0,
  );
}
