import { BLOCKED_SCRATCH_BYTES } from "./blocked";
import { LEAD_SCRATCH_BYTES } from "./lead";
import { useScratch } from "./scratch";

/** Version of the ABI: exports, argument order, layout of packed weights. Changes with any of them. */
export function shoal_abi_version(): i32 {
  return 6;
}

/** First address above the module's static data, 16-byte aligned. */
export function shoal_static_end(): usize {
  return (__heap_base + 15) & ~15;
}

/** Bytes that shoal_use_scratch() wants; the same for blocks = 1 where a build never sweeps in blocks. */
export function shoal_scratch_bytes(blocks: i32): i32 {
  return <i32>max(blocks ? BLOCKED_SCRATCH_BYTES : 0, LEAD_SCRATCH_BYTES);
}

/**
 * Gives this instance scratch memory for itself alone, 16-byte aligned, or takes it away
 * (0). It changes the speed of matrix kernels, no bit: few rows meet large weights faster.
 * blocks = 1: many rows go in blocks, which is faster where the engine checks bounds in
 * code, slower where it does not; relaxed builds ignore it.
 */
export function shoal_use_scratch(address: usize, blocks: i32): void {
  if (!ASC_NO_ASSERT) assert((address & 15) == 0, "scratch memory is 16-byte aligned");
  useScratch(address, blocks != 0);
}
