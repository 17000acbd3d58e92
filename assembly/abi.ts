import { BLOCKED_SCRATCH_BYTES } from "./blocked";
import { PIECES_SCRATCH_BYTES } from "./pieces";
import { Q8_SCRATCH_BYTES } from "./q8_sweep";
import { useScratch, variant } from "./scratch";

/** Version of the ABI: exports, argument order, layout of packed weights. Changes with any of them. */
export function shoal_abi_version(): i32 {
  return 12;
}

/** First address above the module's static data, 16-byte aligned. */
export function shoal_static_end(): usize {
  return (__heap_base + 15) & ~15;
}

/** Variants with equal bits that this build has and shoal_use_scratch() can choose: 1 blocks, 2 whole dots. */
export function shoal_variants(): i32 {
  return (RELAXED_MADD ? 0 : variant.BLOCKS) | (ASC_FEATURE_RELAXED_SIMD ? variant.WHOLE_DOTS : 0);
}

/** Bytes that shoal_use_scratch() wants. */
export function shoal_scratch_bytes(variants: i32): i32 {
  return <i32>max(
    PIECES_SCRATCH_BYTES,
    max(variants & variant.BLOCKS ? BLOCKED_SCRATCH_BYTES : 0, variants & variant.WHOLE_DOTS ? Q8_SCRATCH_BYTES : 0)
  );
}

/**
 * Gives this instance scratch memory for itself alone, 16-byte aligned, or takes it away
 * (0), and says which variants it runs, a sum of those in shoal_variants(); others are
 * ignored. Neither changes a bit. Sums over a long K wait in the memory between pieces, and both variants need it. 1: many rows go in blocks, faster where the engine
 * checks bounds in code, slower where it does not. 2: int8 sums by four products at a time, of 8 bits in two passes
 * unless this engine's dot product, which is tried here, takes them whole; faster where the processor has them in one instruction (VNNI) and the engine uses it.
 */
export function shoal_use_scratch(address: usize, variants: i32): void {
  if (!ASC_NO_ASSERT) assert((address & 15) == 0, "scratch memory is 16-byte aligned");
  useScratch(address, variants);
}
