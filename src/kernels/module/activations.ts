/** Activations fused into matrix kernels; the numbers are part of the ABI. */
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
