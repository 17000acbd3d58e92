/**
 * Least squares that forget, with coefficients that are not negative: what a few figures of a request say about
 * another one, as seen lately. Observations lose weight with every further one and with time, so that an estimate made
 * in other times does not outlive them. A ridge holds coefficients near what is assumed before anything was seen, in
 * proportion to each figure's own mean square, so that their units do not matter; figures that always moved together
 * share the credit.
 * Source: Ljung, "System Identification" (1999), section 11.2 (exponential forgetting); Hoerl and Kennard, "Ridge
 * regression" (1970).
 */
import { power } from "./elementary/power.ts";

/** Observations that the assumption is worth. */
const RIDGE = 0.002;

/** Time after which an observation weighs half. */
const HALF_LIFE_NS = 5e9;

export class LeastSquares {
  readonly #size: number;
  /** Weighted sums of products of figures, [i][j]. */
  readonly #xx: Float64Array;
  /** Weighted sums of figure times outcome. */
  readonly #xy: Float64Array;
  #weight = 0;
  #seenNs = 0;
  #solved: Float64Array | undefined;

  /**
   * @param assumed a coefficient for each figure, as long as nothing is known
   * @param kept weight that an observation keeps when another one comes: 1 / (1 - kept) of them count
   */
  constructor(
    readonly assumed: readonly number[],
    readonly kept: number,
  ) {
    this.#size = assumed.length;
    this.#xx = new Float64Array(this.#size ** 2);
    this.#xy = new Float64Array(this.#size);
  }

  /** Observations, forgotten ones less; 0: nothing is known but what is assumed. */
  get weight(): number {
    return this.#weight;
  }

  /** @returns what figures come to; finite and at least 0 */
  expect(figures: readonly number[]): number {
    const coefficients = this.coefficients();
    let sum = 0;
    for (let i = 0; i < this.#size; i++) sum += coefficients[i] * figures[i];
    return sum;
  }

  /**
   * @param outcome what figures came to, finite
   * @param nowNs without it no time has passed: those before lose weight by their number alone
   */
  observe(
    figures: readonly number[],
    outcome: number,
    nowNs = this.#seenNs,
  ): void {
    const elapsedNs = Math.max(0, nowNs - this.#seenNs);
    this.#seenNs = nowNs;
    const keep = this.#weight === 0
      ? 0
      : this.kept * power(2, -elapsedNs / HALF_LIFE_NS);
    this.#weight = keep * this.#weight + 1;
    for (let i = 0; i < this.#size; i++) {
      for (let j = 0; j < this.#size; j++) {
        const at = i * this.#size + j;
        this.#xx[at] = keep * this.#xx[at] + figures[i] * figures[j];
      }
      this.#xy[i] = keep * this.#xy[i] + figures[i] * outcome;
    }
    this.#solved = undefined;
  }

  /** One for each figure, none negative. */
  coefficients(): Float64Array {
    return this.#solved ??= this.#solve();
  }

  /** Drops what would be negative, the most negative first, until nothing is: a handful of figures have few subsets. */
  #solve(): Float64Array {
    const solution = Float64Array.from(this.assumed);
    if (this.#weight === 0) return solution;
    // A figure that was always 0 says nothing: its coefficient stays what is assumed.
    const kept = [];
    for (let i = 0; i < this.#size; i++) {
      if (this.#xx[i * this.#size + i] > 0) kept.push(i);
    }
    while (kept.length > 0) {
      const values = this.#solveFor(kept);
      let least = 0;
      for (let i = 1; i < kept.length; i++) {
        if (values[i] < values[least]) least = i;
      }
      if (values[least] >= 0) {
        kept.forEach((figure, i) => solution[figure] = values[i]);
        break;
      }
      solution[kept[least]] = 0;
      kept.splice(least, 1);
    }
    return solution;
  }

  /** Normal equations of some figures, the others' coefficients being 0; by elimination with pivots on the diagonal. */
  #solveFor(kept: readonly number[]): Float64Array {
    const n = kept.length;
    const rows = kept.map((figure, i) => {
      const row = new Float64Array(n + 1);
      kept.forEach((other, j) =>
        row[j] = this.#xx[figure * this.#size + other]
      );
      const ridge = RIDGE * row[i] / this.#weight;
      row[i] += ridge;
      row[n] = this.#xy[figure] + ridge * this.assumed[figure];
      return row;
    });
    // Positive definite, the ridge being positive: pivots are.
    for (let i = 0; i < n; i++) {
      for (let below = i + 1; below < n; below++) {
        const factor = rows[below][i] / rows[i][i];
        for (let j = i; j <= n; j++) rows[below][j] -= factor * rows[i][j];
      }
    }
    const values = new Float64Array(n);
    for (let i = n - 1; i >= 0; i--) {
      let sum = rows[i][n];
      for (let j = i + 1; j < n; j++) sum -= rows[i][j] * values[j];
      values[i] = sum / rows[i][i];
    }
    return values;
  }
}
