/** A share that fills up at a rate, as far as it may (a token bucket). */
import { NS_PER_MS, NS_PER_S } from "../../base/units.ts";

export class Allowance {
  #left: number;
  #seenNs: number;

  /**
   * @param perSecond what comes in each second; positive
   * @param most what there is after a pause; positive
   */
  constructor(
    readonly perSecond: number,
    readonly most: number,
    nowNs: number,
  ) {
    this.#left = most;
    this.#seenNs = nowNs;
  }

  /**
   * Takes an amount if there is any at all: an amount that is larger than what there is is owed, or it could never be
   * taken.
   * @returns 0, or milliseconds until there will be some
   */
  take(amount: number, nowNs: number): number {
    const elapsedS = Math.max(0, nowNs - this.#seenNs) / NS_PER_S;
    this.#left = Math.min(this.most, this.#left + elapsedS * this.perSecond);
    this.#seenNs = nowNs;
    // As much as is wanted, of what is never wanted in parts.
    const least = Math.min(amount, this.most);
    if (this.#left >= least) {
      this.#left -= amount;
      return 0;
    }
    return (least - this.#left) / this.perSecond * NS_PER_S / NS_PER_MS;
  }
  /** Of what was taken and not used. */
  giveBack(amount: number): void {
    this.#left = Math.min(this.most, this.#left + amount);
  }
}
