/** A read buffer that is emptied the moment it is full, fed word by word. */
import { NO_ADDRESS } from "./addresses.ts";

export class WalkedBuffer {
  misses = 0;
  #held = 0;
  /** Per word, the filling (1 to 255, then over again) it was last seen in. */
  readonly #seenIn: Uint8Array;
  #filling = 1;

  constructor(readonly capacity: number, span: number) {
    this.#seenIn = new Uint8Array(span);
  }

  /** Takes the first `count` words. */
  takeLine(words: Int32Array, count: number): void {
    for (let i = 0; i < count; i++) {
      const word = words[i];
      if (word === NO_ADDRESS || this.#seenIn[word] === this.#filling) continue;
      this.#seenIn[word] = this.#filling;
      this.misses++;
      this.#held++;
      if (this.#held === this.capacity) this.#empty();
    }
  }

  /**
   * Takes a whole fold of a streamed operand: in each cycle, by port, the word of port p and time
   * cycle - p. The same as its lines one after another (see Demand), in one loop that stays in
   * registers: most of the time of CALC reports is spent here.
   */
  takeStream(ports: Int32Array, times: Int32Array): void {
    const seenIn = this.#seenIn;
    const { capacity } = this;
    const lastPort = ports.length - 1;
    const lastTime = times.length - 1;
    let filling = this.#filling;
    let held = this.#held;
    let misses = 0;
    for (let cycle = 0; cycle <= lastPort + lastTime; cycle++) {
      const last = Math.min(lastPort, cycle);
      for (let port = Math.max(0, cycle - lastTime); port <= last; port++) {
        const word = ports[port] + times[cycle - port];
        if (seenIn[word] === filling) continue;
        seenIn[word] = filling;
        misses++;
        held++;
        if (held === capacity) {
          this.#empty();
          filling = this.#filling;
          held = 0;
        }
      }
    }
    this.misses += misses;
    this.#held = held;
  }

  #empty(): void {
    this.#held = 0;
    this.#filling++;
    if (this.#filling > 255) {
      this.#filling = 1;
      this.#seenIn.fill(0);
    }
  }
}
