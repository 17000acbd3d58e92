/**
 * The memory pool: a ring of slots that requests enter in order of arrival, so that a batch is a slice
 * of neighbours from `DevPtr` on, and that they leave in any order.
 * Source: E2bird, section 5.1, Fig. 5. Places count up for ever; a place's slot is its remainder.
 * Who gives up while waiting leaves a hole, which a batch around it computes as padding.
 */
export class SlotRing<T> {
  readonly #slots: (T | "hole" | "free")[];
  /** Oldest place in use, first place not yet in a batch (DevPtr), next place to write. */
  #oldest = 0;
  #head = 0;
  #tail = 0;

  constructor(readonly capacity: number) {
    this.#slots = new Array(capacity).fill("free");
  }

  /** N: places ready to be taken, holes between them included. */
  get ready(): number {
    return this.#tail - this.#head;
  }

  get isFull(): boolean {
    return this.#tail - this.#oldest === this.capacity;
  }

  /** @returns the entry's place; there must be room */
  push(entry: T): number {
    this.#slots[this.#tail % this.capacity] = entry;
    return this.#tail++;
  }

  /** The next `count` places, first to last; holes are left out of the entries. */
  take(count: number): { places: number[]; entries: T[] } {
    const places: number[] = [];
    const entries: T[] = [];
    for (let i = 0; i < count; i++) {
      const entry = this.#slots[this.#head % this.capacity];
      if (entry !== "hole") entries.push(entry as T);
      places.push(this.#head++);
    }
    this.#trim();
    return { places, entries };
  }

  /** The place is needed no more: a batch has ended. */
  release(place: number): void {
    this.#slots[place % this.capacity] = "free";
    this.#collect();
  }

  /** Who waits at a place gives up. */
  cancel(place: number): void {
    this.#slots[place % this.capacity] = "hole";
    this.#trim();
  }

  /** Holes at either end of what waits are no part of any slice. */
  #trim(): void {
    while (this.#head < this.#tail && this.#is(this.#tail - 1, "hole")) {
      this.#slots[--this.#tail % this.capacity] = "free";
    }
    while (this.#head < this.#tail && this.#is(this.#head, "hole")) {
      this.#slots[this.#head++ % this.capacity] = "free";
    }
    this.#collect();
  }

  #collect(): void {
    while (this.#oldest < this.#head && this.#is(this.#oldest, "free")) {
      this.#oldest++;
    }
  }

  #is(place: number, what: "hole" | "free"): boolean {
    return this.#slots[place % this.capacity] === what;
  }
}
