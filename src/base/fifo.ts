/**
 * A first-in-first-out queue from whose middle one may also take.
 *
 * Not a Set: V8's hash tables are replaced after a few insertions and deletions, and each dead table
 * points to the next; once one is old, all later ones survive every minor collection with what they
 * held. In a queue that lives long, that keeps every request alive until the next major collection.
 */
export class Fifo<T> {
  /** Taken entries before `#head` are undefined. */
  readonly #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  /** The item `index` places behind the first; undefined beyond the last. */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head >= 64 && 2 * this.#head >= this.#items.length) {
      this.#items.copyWithin(0, this.#head);
      this.#items.length -= this.#head;
      this.#head = 0;
    }
    return item;
  }

  /** Takes an item out wherever it stands. @returns whether it was there */
  delete(item: T): boolean {
    const at = this.#items.indexOf(item, this.#head);
    if (at < 0) return false;
    if (at === this.#head) this.shift();
    else this.#items.splice(at, 1);
    return true;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let i = this.#head; i < this.#items.length; i++) {
      yield this.#items[i] as T;
    }
  }
}
