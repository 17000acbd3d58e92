/**
 * Samples at another rate: a windowed sine cardinal, one set of taps for each place that an output has between two
 * inputs (Smith, "Digital Audio Resampling", CCRMA, "Theory of Ideal Bandlimited Interpolation"). An output lies exactly where
 * its time says, so nothing is shifted; it is computed when the samples behind it have come.
 */
import { cos, sin } from "../../base/elementary/trigonometric.ts";
import { greatestCommonDivisor } from "../../base/greatest_common_divisor.ts";

/** Zero crossings on each side. */
const CROSSINGS = 16;

/** Share of the lower rate's band that is let through: the rest is where the filter falls off. */
const PASSED = 0.9;

/** Taps of one place. */
interface Taps {
  /** From the sample at or before the output to the first one that counts. */
  readonly first: number;
  readonly weights: Float64Array;
}

/** Of a rate that stays what it is. */
const UNCHANGED: Taps = { first: 0, weights: Float64Array.of(1) };

/** Samples of one stream, however they are cut into pieces. */
export class Resampler {
  readonly #step: number;
  readonly #places: readonly Taps[];
  /** Samples that further outputs need. */
  #kept = new Float32Array();
  /** Number of the first of them, since the beginning. */
  #keptAt = 0;
  /** The next output's number. */
  #next = 0;

  /** @param from samples a second; @param to likewise */
  constructor(from: number, to: number) {
    const common = greatestCommonDivisor(from, to);
    this.#step = from / common;
    const places = to / common;
    const cutoff = PASSED * Math.min(1, to / from);
    this.#places = Array.from(
      { length: places },
      (_, place) => from === to ? UNCHANGED : tapsOf(place / places, cutoff),
    );
    // Silence in front of the first sample.
    const before = Math.max(0, ...this.#places.map(({ first }) => -first));
    this.#kept = new Float32Array(before);
    this.#keptAt = -before;
  }

  /** All outputs that can be computed now. */
  push(samples: Float32Array): Float32Array<ArrayBuffer> {
    const given = new Float32Array(this.#kept.length + samples.length);
    given.set(this.#kept);
    given.set(samples, this.#kept.length);
    const end = this.#keptAt + given.length;
    const made: number[] = [];
    const places = this.#places.length;
    let from = this.#keptAt;
    for (;; this.#next++) {
      const at = Math.floor(this.#next * this.#step / places);
      const { first, weights } = this.#places[this.#next * this.#step % places];
      from = at + first;
      if (from + weights.length > end) break;
      const offset = from - this.#keptAt;
      let sum = 0;
      for (let i = 0; i < weights.length; i++) {
        sum += weights[i] * given[offset + i];
      }
      made.push(sum);
    }
    const unused = Math.min(from - this.#keptAt, given.length);
    this.#kept = given.slice(unused);
    this.#keptAt += unused;
    return Float32Array.from(made);
  }
}

/**
 * @param place of the output behind a sample, from 0 to 1
 * @param cutoff share of the inputs' band
 */
function tapsOf(place: number, cutoff: number): Taps {
  const half = CROSSINGS / cutoff;
  const first = Math.ceil(place - half);
  const last = Math.floor(place + half);
  const weights = new Float64Array(last - first + 1);
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    const distance = first + i - place;
    weights[i] = cutoff * cardinal(cutoff * distance) *
      blackman(distance / half);
    sum += weights[i];
  }
  // A constant stays what it is.
  return { first, weights: weights.map((weight) => weight / sum) };
}

function cardinal(x: number): number {
  return x === 0 ? 1 : sin(Math.PI * x) / (Math.PI * x);
}

/** Blackman's window, from -1 to 1. */
function blackman(x: number): number {
  return 0.42 + 0.5 * cos(Math.PI * x) + 0.08 * cos(2 * Math.PI * x);
}
