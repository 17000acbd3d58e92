// The one state of an instance: where its scratch memory lies, and which of its variants
// with equal bits it runs.
import { dotsTakeBytes } from "./q8_bytes";

export namespace variant {
  /** Batches of many rows go in blocks (blocked.ts); builds of deterministic floats. */
  export const BLOCKS = 1;
  /** int8 sums of four products are one operation, over packed rows (q8_pack.ts); builds with relaxed SIMD. */
  export const WHOLE_DOTS = 2;
}

/** Address of this instance's scratch memory; 0: it has none, and whole K stays in registers. */
export let scratch: usize = 0;
/** Whether it sweeps in blocks. */
export let blocks: bool = false;
/** Whether it takes int8 products by four. */
export let wholeDots: bool = false;
/** Whether it does so for activations of 8 bits, too. */
export let wholeBytes: bool = false;

export function useScratch(address: usize, variants: i32): void {
  scratch = address;
  blocks = address != 0 && (variants & variant.BLOCKS) != 0;
  wholeDots = address != 0 && (variants & variant.WHOLE_DOTS) != 0;
  wholeBytes = wholeDots && dotsTakeBytes();
}
