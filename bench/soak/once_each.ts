/** Ids of a sequence that come in some order, each once; keeps only those above the first one missing. */
export class OnceEach {
  #below = 0;
  readonly #seen = new Set<number>();

  /** @returns whether it had not come before */
  add(id: number): boolean {
    if (id < this.#below || this.#seen.has(id)) return false;
    this.#seen.add(id);
    while (this.#seen.delete(this.#below)) this.#below++;
    return true;
  }
}
