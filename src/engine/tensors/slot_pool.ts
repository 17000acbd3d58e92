import { exponentOf, powerOfTwo } from "../../base/elementary/powers_of_two.ts";
import { QueueFullError } from "../core/errors.ts";

/** Bytes of the smallest size class; classes grow by eighths of a power of two. */
const SMALLEST = 256;

/** A piece of the arena. */
interface Block {
  readonly address: number;
  readonly bytes: number;
}

/**
 * Allocates the slots of an arena in linear memory. Freed slots are kept by size and handed out again;
 * what the arena is short of is cut from a larger free one. Only when that fails are neighbouring free
 * slots merged, so that a flood of short requests leaves room for long ones.
 */
export class SlotPool {
  #free = new Map<number, number[]>();
  #top: number;
  #used = 0;

  /** @param start address of the arena, 16-byte aligned */
  constructor(readonly start: number, readonly end: number) {
    this.#top = start;
  }

  /** Bytes of the slots handed out. */
  get usedBytes(): number {
    return this.#used;
  }

  /**
   * @returns the slot's address and its real size, to be given back to `release`
   * @throws RangeError when the arena is smaller than the slot
   * @throws QueueFullError when other slots take the room
   */
  allocate(bytes: number): Block {
    const size = sizeClass(bytes);
    let block = this.#take(size);
    if (block === undefined && this.end - this.start - this.#used >= size) {
      this.#merge();
      block = this.#take(size);
    }
    if (block === undefined) throw this.#refusal(size);
    this.#used += block.bytes;
    return block;
  }

  /** Too much for ever, or for now: of its class, which is what there has to be room for. */
  #refusal(size: number): Error {
    const all = this.end - this.start;
    if (size > all) {
      return new RangeError(
        `A request needs a slot of ${size} bytes, all slots have ${all}; give the engine more slotBytes`,
      );
    }
    return new QueueFullError(
      `Slot memory is full: no room for a slot of ${size} bytes, as ${this.#used} of ${all} bytes are in use ` +
        `by requests in flight and open streams; retry when some have ended or give the engine more slotBytes`,
    );
  }

  release(block: Block): void {
    this.#used -= block.bytes;
    this.#put(block.address, block.bytes);
  }

  #put(address: number, bytes: number): void {
    const free = this.#free.get(bytes);
    if (free) free.push(address);
    else this.#free.set(bytes, [address]);
  }

  #take(size: number): Block | undefined {
    const same = this.#free.get(size)?.pop();
    if (same !== undefined) return { address: same, bytes: size };
    if (this.#top + size <= this.end) {
      const address = this.#top;
      this.#top += size;
      return { address, bytes: size };
    }
    let best = Infinity;
    for (const [bytes, free] of this.#free) {
      if (bytes > size && bytes < best && free.length > 0) best = bytes;
    }
    if (best === Infinity) return undefined;
    const address = this.#free.get(best)!.pop()!;
    if (best - size < SMALLEST) return { address, bytes: best };
    this.#put(address + size, best - size);
    return { address, bytes: size };
  }

  /** Joins neighbouring free slots, and gives those at the end back to the arena. */
  #merge(): void {
    const blocks = [...this.#free].flatMap(([bytes, addresses]) =>
      addresses.map((address) => ({ address, bytes }))
    ).sort((a, b) => a.address - b.address);
    this.#free = new Map();
    for (let i = 0; i < blocks.length;) {
      const { address } = blocks[i];
      let end = address;
      while (i < blocks.length && blocks[i].address === end) {
        end += blocks[i++].bytes;
      }
      if (end === this.#top) this.#top = address;
      else this.#put(address, end - address);
    }
  }
}

/** The smallest class that holds `bytes`: a power of two times 8/8 to 15/8. */
function sizeClass(bytes: number): number {
  if (bytes <= SMALLEST) return SMALLEST;
  const step = powerOfTwo(exponentOf(bytes)) / 8;
  return Math.ceil(bytes / step) * step;
}
