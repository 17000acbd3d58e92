/** Scratch memory of one instance, as `shoal_use_scratch` takes it. */
export interface ScratchPlace {
  /** 16-byte aligned; 0: none. */
  readonly address: number;
  /** Whether it sweeps in blocks. */
  readonly blocks: 0 | 1;
}

export const NO_SCRATCH: ScratchPlace = { address: 0, blocks: 0 };
