/**
 * Memory that the bodies of all requests together may take, from their first byte until their request is over: a limit
 * for each of them bounds nothing when there is none on how many there are.
 */
export class BodyBudget {
  #held = 0;

  /** @param bytesMax positive; Infinity: no bound */
  constructor(readonly bytesMax: number) {}

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** @returns whether there was room for so many bytes more; they are held then */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.bytesMax) return false;
    this.#held += bytes;
    return true;
  }

  /** So many bytes are not held any more. */
  give(bytes: number): void {
    this.#held -= bytes;
  }
}
