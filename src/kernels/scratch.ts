/**
 * Which variants with equal bits an instance runs, a sum of
 * - 1, blocks: batches of many rows go block by block, which needs scratch memory; faster in engines
 *   that check bounds in code (Deno), slower in others. Deterministic builds.
 * - 2, whole dots: int8 products of 7-bit activations are summed by four, faster where the processor
 *   does that in one instruction (VNNI) and the engine uses it. Relaxed builds.
 */
export type Variants = 0 | 1 | 2 | 3;

/** Scratch memory of one instance, and its variants, as `shoal_use_scratch` takes them. */
export interface ScratchPlace {
  /** 16-byte aligned; 0: none. */
  readonly address: number;
  readonly variants: Variants;
}

export const NO_SCRATCH: ScratchPlace = { address: 0, variants: 0 };
