/** A ring of bytes for the row tables of queued tasks: taken and given back in order. */
export class TaskArena {
  readonly #start: number;
  readonly #bytes: number;
  /** Offsets: the oldest byte in use, and the next free one. */
  #tail = 0;
  #head = 0;
  #empty = true;
  readonly #ends: number[] = [];

  constructor(start: number, bytes: number) {
    this.#start = start;
    this.#bytes = bytes;
  }

  /** Address of `bytes` contiguous bytes, or undefined while there is no room. */
  take(bytes: number): number | undefined {
    if (this.#empty) this.#tail = this.#head = 0;
    let at: number;
    if (this.#empty || this.#head > this.#tail) {
      if (this.#head + bytes <= this.#bytes) at = this.#head;
      else if (bytes <= this.#tail) at = 0;
      else return undefined;
    } else if (this.#head + bytes <= this.#tail) {
      at = this.#head;
    } else {
      return undefined;
    }
    this.#head = at + bytes;
    this.#empty = false;
    this.#ends.push(this.#head);
    return this.#start + at;
  }

  /** Gives back the oldest piece. */
  giveBack(): void {
    this.#tail = this.#ends.shift()!;
    this.#empty = this.#ends.length === 0;
  }
}
