/**
 * Activations fused into matrix kernels, as the raw exports take them; the numbers are part of the ABI.
 * {@linkcode KernelHost.call} takes their names.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   ACTIVATIONS,
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
 * const a = host.rows(1, 1, Float32Array.of(-2));
 * const w = host.block(packGemm({ n: 1, k: 1, weight: Float32Array.of(3), layout: "kn" }));
 * const c = host.rows(1, 1, "f32");
 * kernels.gemm_f32(1, 1, 1, a.table, 0, 0, w.address, c.table, ACTIVATIONS.relu);
 * assert.deepEqual([...host.read(c)], [0]);
 * ```
 */
export const ACTIVATIONS = {
  none: 0,
  relu: 1,
  sigmoid: 2,
  tanh: 3,
  gelu: 16,
  geluTanh: 17,
  silu: 18,
} as const;

/** Name of an activation fused into a GEMM. */
export type Activation = keyof typeof ACTIVATIONS;
