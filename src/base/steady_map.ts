import { fnv1a } from "./hash.ts";

/** Places that a map begins with: a power of two. */
const FIRST_PLACES = 64;

/**
 * A map for entries that come and go all the time, few of them at once: its table is replaced only when there are more
 * entries than ever before, by one of twice the size.
 *
 * Not a Map: see `Fifo`. What is in one when its table is replaced, as happens every few entries, is held by the dead
 * table until the next major collection, and of requests under way that is nearly every one, with its answer.
 */
export class SteadyMap<T> {
  /** Open addressing, linear probing: an entry is at its own place or behind it, with no free one between. */
  #keys: (string | undefined)[] = new Array(FIRST_PLACES).fill(undefined);
  #values: (T | undefined)[] = new Array(FIRST_PLACES).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#keys[this.#placeOf(key)] !== undefined;
  }

  get(key: string): T | undefined {
    return this.#values[this.#placeOf(key)];
  }

  set(key: string, value: T): void {
    let place = this.#placeOf(key);
    if (this.#keys[place] === undefined) {
      if (2 * (this.#size + 1) > this.#keys.length) {
        this.#grow();
        place = this.#placeOf(key);
      }
      this.#size++;
      this.#keys[place] = key;
    }
    this.#values[place] = value;
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    let free = this.#placeOf(key);
    if (this.#keys[free] === undefined) return false;
    this.#size--;
    const last = this.#keys.length - 1;
    // Who stands behind it and would not be found any more moves up (Knuth, volume 3, section 6.4, algorithm R).
    for (let place = (free + 1) & last;; place = (place + 1) & last) {
      const moved = this.#keys[place];
      if (moved === undefined) break;
      if (((place - fnv1a(moved)) & last) < ((place - free) & last)) continue;
      this.#keys[free] = moved;
      this.#values[free] = this.#values[place];
      free = place;
    }
    this.#keys[free] = undefined;
    this.#values[free] = undefined;
    return true;
  }

  /** Where it is, or would be. */
  #placeOf(key: string): number {
    const last = this.#keys.length - 1;
    let place = fnv1a(key) & last;
    while (this.#keys[place] !== undefined && this.#keys[place] !== key) {
      place = (place + 1) & last;
    }
    return place;
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Array(2 * keys.length).fill(undefined);
    this.#values = new Array(2 * keys.length).fill(undefined);
    keys.forEach((key, i) => {
      if (key === undefined) return;
      const place = this.#placeOf(key);
      this.#keys[place] = key;
      this.#values[place] = values[i];
    });
    // Who has the old table has nothing.
    keys.fill(undefined);
    values.fill(undefined);
  }
}
