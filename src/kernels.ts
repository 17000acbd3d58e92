/**
 * The hot core without the engine: builds, memory, packers, image shapes, checked calls, teams of threads.
 * What each kernel computes stands at {@linkcode KernelExports}; hosts without TypeScript read docs/abi.md.
 *
 * @example A product of two rows with a matrix
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   KernelHost,
 *   packGemm,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const host = new KernelHost(kernels, memory);
 * const a = host.rows(2, 3, Float32Array.of(1, 2, 3, 4, 5, 6));
 * const weight = Float32Array.of(1, 0, 0, 1, 1, 1);
 * const w = host.block(packGemm({ n: 2, k: 3, weight, layout: "kn" }));
 * const c = host.rows(2, 2, "f32");
 * host.call("gemm_f32", { n: 2, k1: 3, aRows1: a, w, cRows: c });
 * assert.deepEqual([...host.read(c)], [4, 5, 10, 11]);
 * ```
 * @module
 */
export { KernelTeam } from "./engine/wall/kernel_team.ts";
export type { KernelTeamOptions } from "./engine/wall/kernel_team.ts";
export { readKernels } from "./engine/wall/runtime.ts";
export type { KernelBuild } from "./engine/wall/runtime.ts";
export { probeScratch } from "./engine/wall/scratch_probe.ts";
export type {
  ScratchAdvice,
  ScratchProbeOptions,
} from "./engine/wall/scratch_probe.ts";
export { warmUp } from "./engine/wall/warm_up.ts";
export type { WarmUpOptions } from "./engine/wall/warm_up.ts";
export { Arena } from "./kernels/host/arena.ts";
export type { Block, Rows } from "./kernels/host/arena.ts";
export { checkedKernels } from "./kernels/host/checked_kernels.ts";
export { KernelHost } from "./kernels/host/kernel_host.ts";
export type { Argument, Arguments } from "./kernels/host/kernel_host.ts";
export type { Activation } from "./kernels/module/activations.ts";
export { ACTIVATIONS } from "./kernels/module/activations.ts";
export { chooseBuild, supports } from "./kernels/module/features.ts";
export type {
  ChosenBuild,
  EngineFeature,
  EngineProbe,
  WantedBuild,
} from "./kernels/module/features.ts";
export { createMemory } from "./kernels/module/memory.ts";
export type { MemoryOptions } from "./kernels/module/memory.ts";
export { ABI_VERSION, instantiateKernels } from "./kernels/module/module.ts";
export type {
  InstantiateOptions,
  KernelExports,
} from "./kernels/module/module.ts";
export type { ScratchPlace, Variants } from "./kernels/module/scratch.ts";
export { shapeWords } from "./kernels/pack/image_words.ts";
export {
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "./kernels/pack/pack_cells.ts";
export type {
  CellSize,
  CellWeights,
  TreeInternalSize,
  TreeInternalWeights,
  TreeLeafWeights,
} from "./kernels/pack/pack_cells.ts";
export {
  foldBatchNorm,
  packConv,
  packConvTranspose,
  packDepthwise,
} from "./kernels/pack/pack_conv.ts";
export type { BatchNorm, ConvWeights } from "./kernels/pack/pack_conv.ts";
export { packFft } from "./kernels/pack/pack_fft.ts";
export { packGemm } from "./kernels/pack/pack_gemm.ts";
export type { GemmSize, PackGemmOptions } from "./kernels/pack/pack_gemm.ts";
export { packConvQ8 } from "./kernels/pack/pack_q8_conv.ts";
export type { ConvQ8Weights } from "./kernels/pack/pack_q8_conv.ts";
export { packGruQ8, packLstmQ8 } from "./kernels/pack/pack_q8_cells.ts";
export type {
  CellQ8Weights,
  QuantizedGates,
} from "./kernels/pack/pack_q8_cells.ts";
export { packQ8, quantizeWeights } from "./kernels/pack/pack_q8.ts";
export type { PackQ8Options } from "./kernels/pack/pack_q8.ts";
export { resizeLinear, resizeNearest } from "./kernels/pack/resize_tables.ts";
export type {
  CoordinateMode,
  NearestMode,
  ResizeAxis,
} from "./kernels/pack/resize_tables.ts";
export type { KernelName, OperandType } from "./kernels/spec/signature.ts";
export type { TeamPlan } from "./kernels/team/block.ts";
export type { TeamWays } from "./kernels/team/leader.ts";
export { imageShape, transposedShape } from "./tensor/image_shape.ts";
export type {
  ImageShape,
  ImageWindow,
  Pair,
  TransposedWindow,
} from "./tensor/image_shape.ts";
