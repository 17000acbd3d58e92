/** States of one length, each kept once, numbered in order of their arrival. */
export class StateSet {
  #states: Int32Array;
  #table = new Int32Array(1 << 12).fill(-1);
  #hashes = new Int32Array(1 << 10);
  #size = 0;

  /** @param length words of a state */
  constructor(readonly length: number) {
    this.#states = new Int32Array(length << 10);
  }

  get size(): number {
    return this.#size;
  }

  /** Copies state number `id`. */
  copy(id: number, to: Int32Array): void {
    const from = id * this.length;
    for (let i = 0; i < this.length; i++) to[i] = this.#states[from + i];
  }

  /** @returns the state's number, which is `size` before the call when it is new */
  add(state: Int32Array): number {
    if (2 * this.#size >= this.#table.length) this.#grow();
    const h = hash(state);
    const mask = this.#table.length - 1;
    let slot = h & mask;
    for (;; slot = (slot + 1) & mask) {
      const known = this.#table[slot];
      if (known < 0) break;
      if (this.#hashes[known] === h && this.#isAt(known, state)) return known;
    }
    const id = this.#size++;
    if (this.#size > this.#hashes.length) {
      this.#states = doubled(this.#states);
      this.#hashes = doubled(this.#hashes);
    }
    this.#states.set(state, id * this.length);
    this.#hashes[id] = h;
    return this.#table[slot] = id;
  }

  #isAt(id: number, state: Int32Array): boolean {
    const from = id * this.length;
    for (let i = 0; i < this.length; i++) {
      if (this.#states[from + i] !== state[i]) return false;
    }
    return true;
  }

  #grow(): void {
    const table = new Int32Array(2 * this.#table.length).fill(-1);
    const mask = table.length - 1;
    for (let id = 0; id < this.#size; id++) {
      let slot = this.#hashes[id] & mask;
      while (table[slot] >= 0) slot = (slot + 1) & mask;
      table[slot] = id;
    }
    this.#table = table;
  }
}

function doubled(values: Int32Array): Int32Array<ArrayBuffer> {
  const more = new Int32Array(2 * values.length);
  more.set(values);
  return more;
}

function hash(state: Int32Array): number {
  let h = 0x811c9dc5 | 0;
  for (let i = 0; i < state.length; i++) {
    h = Math.imul(h ^ state[i], 0x01000193);
    h ^= h >>> 15;
  }
  return Math.imul(h, 0x85ebca6b) ^ (h >>> 13);
}
