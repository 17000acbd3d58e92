/**
 * Who does not know of which access: vector clocks, cut down to what races need, so that there are few
 * states. A fact is "the last plain write of this word", or "this process's last access of that kind to
 * this word since". A set holds the facts that its owner (a process, or an atomic word that publishes) has
 * not heard of. An access to a word races when its process has not heard of an access that conflicts.
 */
export type Kind = "plain" | "mixed" | "trusted";

/** Accesses of a word that are facts; after the first, one fact for each process. */
const FACTS = { plainWrite: 0, plainRead: 1, write: 2, read: 3 } as const;

export class Ignorance {
  /** Words of one set. */
  readonly length: number;
  readonly #processes: number;
  /** First fact of each word; -1: none. */
  readonly #facts: number[] = [];
  readonly #kinds: readonly Kind[];
  readonly #sets: number;

  readonly #at: number;

  /**
   * @param sets how many there are: those of processes come first
   * @param at where they lie in a state
   */
  constructor(
    kinds: readonly Kind[],
    processes: number,
    sets: number,
    at: number,
  ) {
    this.#at = at;
    this.#processes = processes;
    this.#kinds = kinds;
    this.#sets = sets;
    let facts = 0;
    for (const kind of kinds) {
      const ways = { trusted: -1, plain: 1, mixed: 3 }[kind];
      this.#facts.push(ways < 0 ? -1 : facts);
      if (ways >= 0) facts += 1 + ways * processes;
    }
    this.length = Math.ceil(facts / 32);
  }

  /** Process `p` reads or writes `word`. @returns whether that races with what others did */
  plain(
    state: Int32Array,
    p: number,
    word: number,
    way: "read" | "write",
  ): boolean {
    const first = this.#facts[word];
    if (first < 0) return false;
    const mixed = this.#kinds[word] === "mixed";
    const n = this.#processes;
    const reads = this.#fact(word, FACTS.plainRead, 0);
    if (this.#has(state, p, first)) return true;
    if (way === "read") {
      if (mixed && this.#any(state, p, this.#fact(word, FACTS.write, 0), n)) {
        return true;
      }
      this.#tell(state, p, reads + p);
      return false;
    }
    const since = mixed ? 3 * n : n;
    if (this.#any(state, p, reads, since)) return true;
    for (let fact = reads; fact < reads + since; fact++) {
      for (let set = 0; set < this.#sets; set++) this.#clear(state, set, fact);
    }
    this.#tell(state, p, first);
    return false;
  }

  /** Process `p` accesses `word` atomically. @returns whether that races with a plain access */
  atomic(
    state: Int32Array,
    p: number,
    word: number,
    way: "read" | "write",
  ): boolean {
    if (this.#kinds[word] !== "mixed") return false;
    if (this.#has(state, p, this.#facts[word])) return true;
    if (
      way === "write" &&
      this.#any(state, p, this.#fact(word, FACTS.plainRead, 0), this.#processes)
    ) return true;
    this.#tell(state, p, this.#fact(word, FACTS[way], p));
    return false;
  }

  /** `to` hears of all that `from` has heard of. */
  hear(state: Int32Array, to: number, from: number): void {
    for (let i = 0; i < this.length; i++) {
      state[this.#at + to * this.length + i] &=
        state[this.#at + from * this.length + i];
    }
  }

  /** `to` has heard of what `from` has, and of nothing else. */
  become(state: Int32Array, to: number, from: number): void {
    for (let i = 0; i < this.length; i++) {
      state[this.#at + to * this.length + i] =
        state[this.#at + from * this.length + i];
    }
  }

  #fact(word: number, way: number, p: number): number {
    return this.#facts[word] + 1 + (way - 1) * this.#processes + p;
  }

  /** A new fact, of which only `p` knows. */
  #tell(state: Int32Array, p: number, fact: number): void {
    for (let set = 0; set < this.#sets; set++) {
      state[this.#at + set * this.length + (fact >> 5)] |= 1 << (fact & 31);
    }
    this.#clear(state, p, fact);
  }

  #clear(state: Int32Array, set: number, fact: number): void {
    state[this.#at + set * this.length + (fact >> 5)] &= ~(1 << (fact & 31));
  }

  #has(state: Int32Array, set: number, fact: number): boolean {
    return (state[this.#at + set * this.length + (fact >> 5)] >> (fact & 31) &
      1) === 1;
  }

  #any(state: Int32Array, set: number, from: number, facts: number): boolean {
    for (let fact = from; fact < from + facts; fact++) {
      if (this.#has(state, set, fact)) return true;
    }
    return false;
  }
}
