/** Bytes of the smallest size class; classes grow by eighths of a power of two. */
const SMALLEST = 256;

/**
 * Allocates the slots of an arena in linear memory. Freed slots are kept by size class and handed out
 * again; what the arena is short of is taken from the next larger class that has a free slot.
 */
export class SlotPool {
  readonly #free = new Map<number, number[]>();
  #top: number;
  #used = 0;

  /** @param start address of the arena, 16-byte aligned */
  constructor(start: number, readonly end: number) {
    this.#top = start;
  }

  /** Bytes of the slots handed out. */
  get usedBytes(): number {
    return this.#used;
  }

  /**
   * @returns the slot's address and its real size, to be given back to `release`
   * @throws RangeError when the arena has no room
   */
  allocate(bytes: number): { address: number; bytes: number } {
    const size = sizeClass(bytes);
    let found = this.#free.get(size)?.pop();
    let taken = size;
    if (found === undefined && this.#top + size <= this.end) {
      found = this.#top;
      this.#top += size;
    }
    if (found === undefined) {
      for (const larger of [...this.#free.keys()].sort((a, b) => a - b)) {
        if (larger < size || this.#free.get(larger)!.length === 0) continue;
        found = this.#free.get(larger)!.pop()!;
        taken = larger;
        break;
      }
    }
    if (found === undefined) {
      throw new RangeError(
        `No room for a slot of ${bytes} bytes: ${this.#used} bytes are in use by requests in flight; ` +
          `retry later or give the engine more slotBytes`,
      );
    }
    this.#used += taken;
    return { address: found, bytes: taken };
  }

  release(slot: { address: number; bytes: number }): void {
    this.#used -= slot.bytes;
    const free = this.#free.get(slot.bytes);
    if (free) free.push(slot.address);
    else this.#free.set(slot.bytes, [slot.address]);
  }
}

/** The smallest class that holds `bytes`: a power of two times 8/8 to 15/8. */
function sizeClass(bytes: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = 2 ** Math.floor(Math.log2(bytes)) / 8;
  return Math.ceil(bytes / step) * step;
}
