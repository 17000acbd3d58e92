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
      if (words[i] !== NO_ADDRESS) this.#take(words[i]);
    }
  }

  /**
   * Takes a whole fold of a resident operand: in each cycle a row, from the last to the first, by port
   * the word of port p and row r.
   */
  takeRows(ports: Int32Array, rows: Int32Array): void {
    for (let r = rows.length - 1; r >= 0; r--) {
      const row = rows[r];
      if (this.#held + ports.length < this.capacity) {
        const seenIn = this.#seenIn;
        const filling = this.#filling;
        let fresh = 0;
        for (let p = 0; p < ports.length; p++) {
          const word = ports[p] + row;
          if (seenIn[word] !== filling) {
            seenIn[word] = filling;
            fresh++;
          }
        }
        this.#add(fresh);
      } else {
        for (let p = 0; p < ports.length; p++) this.#take(ports[p] + row);
      }
    }
  }

  /**
   * Takes a whole fold of a streamed operand: in each cycle, by port, the word of port p and time
   * cycle - p. The same as its lines one after another (see Demand).
   *
   * The order of words matters only where the buffer gets full. As many cycles as surely do not fill it
   * are taken port by port, which is several times faster; most of the time of CALC reports is spent here.
   */
  takeStream(ports: Int32Array, times: Int32Array): void {
    const cycles = ports.length + times.length - 1;
    for (let cycle = 0; cycle < cycles;) {
      const safe = Math.floor((this.capacity - this.#held - 1) / ports.length);
      if (safe === 0) {
        const last = Math.min(ports.length - 1, cycle);
        for (
          let port = Math.max(0, cycle - times.length + 1);
          port <= last;
          port++
        ) this.#take(ports[port] + times[cycle - port]);
        cycle++;
        continue;
      }
      const end = Math.min(cycles, cycle + Math.min(safe, CYCLES_MAX));
      let fresh = 0;
      for (let port = 0; port < ports.length; port++) {
        const from = Math.max(0, cycle - port);
        const to = Math.min(times.length, end - port);
        fresh += this.#takeRun(ports[port], times, from, to);
      }
      this.#add(fresh);
      cycle = end;
    }
  }

  /** The words at times [from, to) of one port. Returns those that were not there. */
  #takeRun(port: number, times: Int32Array, from: number, to: number): number {
    const seenIn = this.#seenIn;
    const filling = this.#filling;
    let fresh = 0;
    for (let time = from; time < to; time++) {
      const word = port + times[time];
      if (seenIn[word] !== filling) {
        seenIn[word] = filling;
        fresh++;
      }
    }
    return fresh;
  }

  #take(word: number): void {
    if (this.#seenIn[word] === this.#filling) return;
    this.#seenIn[word] = this.#filling;
    this.#add(1);
  }

  #add(words: number): void {
    this.misses += words;
    this.#held += words;
    if (this.#held === this.capacity) this.#empty();
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

/** Cycles taken at once: the words of a port's neighbours are still in the nearest cache. */
const CYCLES_MAX = 256;
