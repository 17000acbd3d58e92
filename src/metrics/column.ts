/** A growing column of numbers, without an object per entry. */
export class Column {
  #values = new Float64Array(1024);
  #length = 0;

  /** Entries so far. */
  get length(): number {
    return this.#length;
  }

  /** Adds an entry. */
  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The entries so far, as a view that later pushes may leave behind. */
  values(): Float64Array {
    return this.#values.subarray(0, this.#length);
  }
}
