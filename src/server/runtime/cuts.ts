/** What waits for an answer until it is cut off. */

/**
 * Like `Promise.race` with one promise that all share, which would hold every answer that was ever raced with it for as
 * long as it is not settled itself.
 */
export class Cuts<Answer> {
  readonly #waiting = new Set<(answer: Answer) => void>();
  #instead: (() => Answer) | undefined;

  /** Answers that are held because they are not there yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The answer, or what stands for all when they are cut off before it is there. */
  orCut(answer: Answer | Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#instead) resolve(this.#instead());
      this.#waiting.add(resolve);
      Promise.resolve(answer).then(resolve, reject)
        .finally(() => this.#waiting.delete(resolve));
    });
  }

  /** Cuts off who waits, and who comes. @param instead an answer for each */
  end(instead: () => Answer): void {
    this.#instead = instead;
    for (const resolve of this.#waiting) resolve(instead());
  }
}
