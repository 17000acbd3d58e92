// The one state of an instance: where its scratch memory lies, and what for.

/** Address of this instance's scratch memory; 0: it has none, and whole K stays in registers. */
export let scratch: usize = 0;
/** Whether batches of many rows go in blocks (blocked.ts). */
export let blocks: bool = false;

export function useScratch(address: usize, inBlocks: bool): void {
  scratch = address;
  blocks = address != 0 && inBlocks;
}
