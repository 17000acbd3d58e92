import { log } from "./elementary/logarithm.ts";
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import type { RandomGenerator } from "pure-rand/types/RandomGenerator";
import { describe } from "./describe.ts";
import { fnv1a } from "./hash.ts";

/** The one source of randomness: a seeded generator (xoroshiro128+). */
export class Prng {
  readonly #generator: RandomGenerator;

  /**
   * The beginning of a sequence.
   * @param seed an integer; equal seeds give equal sequences. First draws of small seeds are small: where seeds are
   * numbers in a row, fork once.
   */
  constructor(readonly seed: number) {
    if (!Number.isSafeInteger(seed)) {
      throw new RangeError(`A seed is an integer, got ${describe(seed)}`);
    }
    this.#generator = xoroshiro128plus(seed | 0);
  }

  /**
   * An independent stream for one purpose, so that adding a draw here never moves another. Labels that differ in their
   * last character alone have first draws that follow it (of 1,000 running numbers 2 to 82 in a twentieth): for streams
   * by number draw their seeds.
   */
  fork(label: string): Prng {
    return new Prng(fnv1a(`${this.seed}/${label}`) | 0);
  }

  /** Uniform in [0, 1). */
  float(): number {
    return uniformFloat64(this.#generator);
  }

  /** Uniform integer in [0, below). */
  int(below: number): number {
    return uniformInt(this.#generator, 0, below - 1);
  }

  /** Exponentially distributed with the given mean: the gaps of a Poisson process. */
  exponential(mean: number): number {
    return -mean * log(1 - this.float());
  }
}
