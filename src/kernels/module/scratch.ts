/** Batches of many rows go block by block, which needs scratch memory. Builds of deterministic floats. */
export const BLOCKS = 1;
/**
 * int8 products are summed by four over packed rows, which needs scratch memory; 8-bit activations in two parts unless
 * the engine takes them whole. Builds with relaxed SIMD.
 */
export const WHOLE_DOTS = 2;
/** Both. */
export const ALL_VARIANTS = 3;

/**
 * Which variants with equal bits an instance runs, a sum of
 * - 1, blocks: faster in engines that check bounds in code (Deno), slower in others;
 * - 2, whole dots: faster where the processor sums four int8 products in one instruction (VNNI) and
 *   the engine uses it.
 */
export type Variants = 0 | 1 | 2 | 3;

/** Scratch memory of one instance, and its variants, as `shoal_use_scratch` takes them. */
export interface ScratchPlace {
  /** 16-byte aligned; 0: none. */
  readonly address: number;
  /** Which variants the instance runs; what the build lacks is ignored. */
  readonly variants: Variants;
}

/** For instances that get none. */
export const NO_SCRATCH: ScratchPlace = { address: 0, variants: 0 };
