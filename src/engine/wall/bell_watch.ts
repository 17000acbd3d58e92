/**
 * How the engine's thread waits for workers: it looks at their bell in every turn of the event loop while the end is
 * near, then sleeps.
 *
 * To wake a thread takes 15 to 50 us, as long as a small model takes for a request, and a core that sleeps is slow to
 * wake the next one, too. To look takes some of every turn, in which everybody else of the thread has his own.
 * As nobody knows when a task ends, the last wait tells: after one that was over within the time that is allowed for,
 * the next one is looked for, for half as long again at most; after a longer one the thread sleeps at once. Where the
 * worker has been put on the same core it cannot end while somebody looks, so that after a look in vain the thread
 * sleeps once, after another one twice, and so on, until a look pays again. Who waits for nothing does not look.
 */

/** Where the time comes from, and turns of the event loop. */
export interface WatchHost {
  /** A clock, in nanoseconds. */
  nowNs(): number;
  /** Calls back in a later turn, after everybody else. */
  nextTurn(callback: () => void): void;
}

/** How long it is looked, in waits as the last one was. */
const LOOK_WAITS = 1.5;

/** Looks in one turn of the event loop: some microseconds. A turn makes garbage, a look none. */
const LOOKS_PER_TURN = 1024;

/** Waits in a row that are slept through since looks were in vain. */
const SLEEPS_MAX = 64;

/** Waits for a word to change. */
export class BellWatch {
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #lookNs: number;
  readonly #host: WatchHost;
  /** How long the last wait was. */
  #lastNs = Infinity;
  /** Waits to sleep through before the next look, and how many that were after the last one in vain. */
  #sleepsLeft = 0;
  #sleeps = 0;

  /**
   * @param bell the word, in shared memory
   * @param lookNs how long it is looked at, at most; 0: never
   */
  constructor(
    bell: { readonly words: Int32Array; readonly index: number },
    lookNs: number,
    host: WatchHost,
  ) {
    this.#words = bell.words;
    this.#index = bell.index;
    this.#lookNs = lookNs;
    this.#host = host;
  }

  /** Calls back, once and in a later turn or microtask, when the word is no longer as it was seen. */
  onRing(seen: number, callback: () => void): void {
    const sinceNs = this.#host.nowNs();
    const heard = () => {
      this.#lastNs = this.#host.nowNs() - sinceNs;
      callback();
    };
    if (this.#lastNs >= this.#lookNs) return this.#sleep(seen, heard);
    if (this.#sleepsLeft > 0) {
      this.#sleepsLeft--;
      return this.#sleep(seen, heard);
    }
    const lookNs = Math.min(this.#lookNs, LOOK_WAITS * this.#lastNs);
    this.#look(seen, sinceNs + lookNs, heard);
  }

  #look(seen: number, untilNs: number, heard: () => void): void {
    const look = () => {
      if (this.#hasChanged(seen)) {
        this.#sleeps = 0;
        heard();
      } else if (this.#host.nowNs() < untilNs) this.#host.nextTurn(look);
      else {
        this.#sleeps = Math.min(SLEEPS_MAX, Math.max(1, 2 * this.#sleeps));
        this.#sleepsLeft = this.#sleeps;
        this.#sleep(seen, heard);
      }
    };
    this.#host.nextTurn(look);
  }

  #hasChanged(seen: number): boolean {
    for (let i = 0; i < LOOKS_PER_TURN; i++) {
      if (Atomics.load(this.#words, this.#index) !== seen) return true;
    }
    return false;
  }

  #sleep(seen: number, heard: () => void): void {
    const { async, value } = Atomics.waitAsync(this.#words, this.#index, seen);
    if (async) value.then(heard);
    else queueMicrotask(heard);
  }
}
