/** A mean of what changes: of the first values all alike, of later ones the newest count most (exponential smoothing). */
export class MovingMean {
  #count: number;

  /**
   * @param newest least share of the newest value
   * @param value the mean; until there are values, what is assumed
   * @param worth values that the assumption is worth
   */
  constructor(readonly newest: number, public value = 0, worth = 0) {
    this.#count = worth;
  }

  add(value: number): void {
    const share = Math.max(1 / ++this.#count, this.newest);
    this.value += share * (value - this.value);
  }
}
