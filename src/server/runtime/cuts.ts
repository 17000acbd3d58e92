/** What waits for an answer until it is cut off. */

/** One that waits, in a ring of all that do. */
interface Waiting<Answer> {
  resolve: ((answer: Answer) => void) | undefined;
  before: Waiting<Answer>;
  behind: Waiting<Answer>;
}

/**
 * Like `Promise.race` with one promise that all share, which would hold every answer that was ever raced with it for as
 * long as it is not settled itself. A ring and no Set, which would hold most of them for long, too: see `Fifo`.
 */
export class Cuts<Answer> {
  /** Stands for nobody. */
  readonly #ring: Waiting<Answer> = ringOfNobody();
  #count = 0;
  #instead: (() => Answer) | undefined;

  /** Answers that are held because they are not there yet. */
  get waiting(): number {
    return this.#count;
  }

  /** The answer, or what stands for all when they are cut off before it is there. */
  orCut(answer: Answer | Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#instead) resolve(this.#instead());
      const waiting = this.#enter(resolve);
      Promise.resolve(answer).then(resolve, reject)
        .finally(() => this.#leave(waiting));
    });
  }

  /** Cuts off who waits, and who comes. @param instead an answer for each */
  end(instead: () => Answer): void {
    this.#instead = instead;
    const ring = this.#ring;
    for (let each = ring.behind; each !== ring; each = each.behind) {
      each.resolve!(instead());
    }
  }

  #enter(resolve: (answer: Answer) => void): Waiting<Answer> {
    const behind = this.#ring;
    const waiting = { resolve, before: behind.before, behind };
    behind.before.behind = waiting;
    behind.before = waiting;
    this.#count++;
    return waiting;
  }

  #leave(waiting: Waiting<Answer>): void {
    const { before, behind } = waiting;
    before.behind = behind;
    behind.before = before;
    // Where it was already old it would hold those that it stood between until the next major collection.
    waiting.before = waiting;
    waiting.behind = waiting;
    waiting.resolve = undefined;
    this.#count--;
  }
}

function ringOfNobody<Answer>(): Waiting<Answer> {
  const ring = { resolve: undefined } as Waiting<Answer>;
  ring.before = ring;
  ring.behind = ring;
  return ring;
}
