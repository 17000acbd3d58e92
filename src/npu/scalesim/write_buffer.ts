/**
 * SCALE-Sim's ofmap buffer. Words gather into lines of `bandwidth` words. Once more than half the
 * buffer is written and no drain is running, the part-filled line is closed and the oldest
 * ceil(half / bandwidth) lines leave, one line per cycle; their room is free at once. Writes stall
 * only if the buffer is full while a drain runs.
 *
 * Deviation kept on purpose: empty slots of a part-filled line count as words, unless it is the last
 * line of a drain. Hence a few DRAM writes too many, and room that is given back but was never taken.
 */
export interface WriteBufferOptions {
  capacityWords: number;
  /** Words per cycle towards DRAM, and words per line. */
  bandwidthWords: number;
}

export class WriteBuffer {
  dramWrites = 0;
  /** Cycle in which the last line so far was (or will be) written to DRAM. */
  drainEndCycle = 0;
  /** The latest of those; the last flush may start before the drain before it has ended. */
  drainEndCycleMax = 0;
  freeWords: number;

  readonly #activeWords: number;
  readonly #linesPerDrain: number;
  readonly #bandwidth: number;
  #openWords = 0;
  /** Closed lines waiting, oldest first, as runs of full lines ended by one part-filled line. */
  #runs: { fullLines: number; partWords: number }[] = [];

  constructor({ capacityWords, bandwidthWords }: WriteBufferOptions) {
    this.freeWords = capacityWords;
    this.#activeWords = Math.ceil(capacityWords * 0.5);
    this.#linesPerDrain = Math.ceil(
      (capacityWords - this.#activeWords) / bandwidthWords,
    );
    this.#bandwidth = bandwidthWords;
  }

  /** Takes `count` words in `cycle`. Returns the cycles the array has to wait. */
  write(count: number, cycle: number): number {
    let now = cycle;
    let left = count;
    while (left > 0) {
      if (now < this.drainEndCycle) {
        const untilFull = Math.max(1, this.freeWords);
        if (left < untilFull) {
          this.take(left);
          break;
        }
        this.take(untilFull);
        left -= untilFull;
        now = this.drainEndCycle;
      } else {
        const untilDrain = Math.max(1, this.freeWords - this.#activeWords + 1);
        if (left < untilDrain) {
          this.take(left);
          break;
        }
        this.take(untilDrain);
        left -= untilDrain;
        this.#closeLine();
        this.#drain(now);
      }
    }
    return now - cycle;
  }

  /** Words that can be taken before anything but storing them happens, if no drain is running. */
  get wordsUntilDrain(): number {
    return Math.max(0, this.freeWords - this.#activeWords);
  }

  /** Stores words of cycles in which neither a drain starts nor the buffer fills. */
  take(words: number): void {
    this.freeWords -= words;
    this.#openWords += words;
  }

  /** Writes out all that is left, from `cycle` on. */
  flush(cycle: number): void {
    this.#closeLine();
    for (
      let from = cycle;
      this.#runs.length > 0;
      from = this.drainEndCycle + 1
    ) this.#drain(from);
  }

  #closeLine(): void {
    if (this.#openWords === 0) return;
    const fullLines = Math.floor(this.#openWords / this.#bandwidth);
    this.#runs.push({
      fullLines,
      partWords: this.#openWords - fullLines * this.#bandwidth,
    });
    this.#openWords = 0;
  }

  #drain(cycle: number): void {
    let lines = 0;
    let missingWords = 0;
    while (lines < this.#linesPerDrain && this.#runs.length > 0) {
      const run = this.#runs[0];
      const full = Math.min(run.fullLines, this.#linesPerDrain - lines);
      run.fullLines -= full;
      lines += full;
      if (full > 0) missingWords = 0;
      if (
        run.fullLines === 0 && run.partWords > 0 && lines < this.#linesPerDrain
      ) {
        missingWords = this.#bandwidth - run.partWords;
        run.partWords = 0;
        lines++;
      }
      if (run.fullLines === 0 && run.partWords === 0) this.#runs.shift();
    }
    const words = lines * this.#bandwidth - missingWords;
    this.dramWrites += words;
    this.freeWords += words;
    this.drainEndCycle = cycle + lines - 1;
    this.drainEndCycleMax = Math.max(this.drainEndCycleMax, this.drainEndCycle);
  }
}
