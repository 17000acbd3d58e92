/** Ends a text where the stop string begins that is complete first, wherever its pieces are cut. */
export class StopStrings {
  readonly #stops: readonly string[];
  /** What may be the beginning of a stop string. */
  #held = "";
  #found: string | undefined;

  /** @param stops none is empty */
  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** The stop string that has ended the text. */
  get found(): string | undefined {
    return this.#found;
  }

  /**
   * The text that is certain with one more piece; nothing once a stop string was found.
   * @param mayEnd whether one that is complete with this piece ends the text
   */
  push(piece: string, mayEnd = true): string {
    if (this.#found !== undefined) return "";
    const { length } = this.#held;
    const text = this.#held + piece;
    let end = text.length;
    let completeAt = Infinity;
    for (const stop of mayEnd ? this.#stops : []) {
      // What was complete before could not end it.
      const at = text.indexOf(stop, Math.max(0, length - stop.length + 1));
      const complete = at + stop.length;
      if (at < 0 || complete > completeAt) continue;
      // Of two that end together the longer one.
      if (complete === completeAt && at >= end) continue;
      [end, completeAt] = [at, complete];
      this.#found = stop;
    }
    if (this.#found === undefined) end -= this.#beginning(text);
    this.#held = this.#found === undefined ? text.slice(end) : "";
    return text.slice(0, end);
  }

  /** The text that is left when no more comes: it was no stop string. */
  end(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }

  /** How much of the end of a text is the beginning of a stop string. */
  #beginning(text: string): number {
    let most = 0;
    for (const stop of this.#stops) {
      let count = Math.min(stop.length - 1, text.length);
      while (count > most && !text.endsWith(stop.slice(0, count))) count--;
      most = Math.max(most, count);
    }
    return most;
  }
}
