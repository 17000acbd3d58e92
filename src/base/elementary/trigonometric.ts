/**
 * Sine, cosine and tangent in f64, to some units of the last place, the same bits in every JavaScript engine (see
 * `exponential.ts`). Source: Cody and Waite, "Software Manual for the Elementary Functions" (1980), chapters 8 and 9:
 * whole quarters of a turn are taken off in three parts; of the rest the series. Of large angles quarters are counted
 * in whole numbers of any size (Payne and Hanek, SIGNUM Newsletter 18 (1), 1983).
 */
import { exponentOf, powerOfTwo } from "./powers_of_two.ts";

/** A quarter of a turn, in parts of 33, 33 and 53 bits. */
const QUARTER = [
  1.5707963267341256,
  6.077100506303966e-11,
  2.0222662487959506e-21,
] as const;
/** So many quarters have exact products with a part of 33 bits. */
const QUARTERS_MAX = 2 ** 20;
const QUARTERS_PER_RADIAN = 0.6366197723675814;

/** An angle up to an eighth of a turn away from 0, in two parts, behind so many quarters, from 0 to 3. */
interface Reduced {
  readonly quarters: number;
  readonly high: number;
  readonly low: number;
}

/** @param x finite */
function reduced(x: number): Reduced {
  const n = Math.floor(x * QUARTERS_PER_RADIAN + 0.5);
  if (Math.abs(n) > QUARTERS_MAX) return large(x);
  const first = x - n * QUARTER[0];
  const second = n * QUARTER[1];
  const left = first - second;
  const lost = first - left - second;
  const third = n * QUARTER[2] - lost;
  const high = left - third;
  return { quarters: n & 3, high, low: left - high - third };
}

/** Bits of 2 / pi: what the largest number's own do not reach, and 229 for the fraction. */
const BITS = 1200;
let quartersPerRadian: bigint | undefined;

/** 2 / pi times 2^BITS. */
function quartersBits(): bigint {
  if (quartersPerRadian !== undefined) return quartersPerRadian;
  const one = 1n << BigInt(BITS + 64);
  const arctangentOfOneOver = (n: bigint) => {
    let sum = 0n;
    for (let term = one / n, i = 1n; term !== 0n; term /= -n * n, i += 2n) {
      sum += term / i;
    }
    return sum;
  };
  // A quarter of a turn by Machin's formula.
  const quarter = 8n * arctangentOfOneOver(5n) - 2n * arctangentOfOneOver(239n);
  return quartersPerRadian = (one << BigInt(BITS)) / quarter;
}

function large(x: number): Reduced {
  const shift = exponentOf(Math.abs(x)) - 52;
  // The significant bits as a whole number; exact, as both steps are by powers of two.
  const whole = BigInt(
    x * powerOfTwo(shift < 0 ? -shift : 0) / powerOfTwo(Math.max(0, shift)),
  );
  const bits = BigInt(BITS - shift);
  const product = whole * quartersBits();
  const quarters = (product + (1n << bits - 1n)) >> bits;
  const rest = (product - (quarters << bits)) >> bits - 200n;
  const high = Number(rest) * powerOfTwo(-200) * (Math.PI / 2);
  return { quarters: Number(quarters & 3n), high, low: 0 };
}

/** sin(high + low): the series to its 19th power. */
function sine(high: number, low: number): number {
  const z = high * high;
  const z2 = z * z;
  const even = -1 / 6 + z2 * (-1 / 5040 + z2 * (-1 / 39916800 +
            z2 * (-1 / 1307674368000 + z2 * (-1 / 121645100408832000))));
  const odd = 1 / 120 + z2 * (1 / 362880 + z2 * (1 / 6227020800 +
            z2 * (1 / 355687428096000)));
  return high + (high * z * (even + z * odd) + low * (1 - z / 2));
}

/** cos(high + low): the series to its 18th power. */
function cosine(high: number, low: number): number {
  const z = high * high;
  const z2 = z * z;
  const even = 1 / 24 + z2 * (1 / 40320 + z2 * (1 / 479001600 +
            z2 * (1 / 20922789888000)));
  const odd = -1 / 720 + z2 * (-1 / 3628800 + z2 * (-1 / 87178291200 +
            z2 * (-1 / 6402373705728000)));
  const half = z / 2;
  const rest = 1 - half;
  // What 1 - z/2 was rounded by goes to the small parts.
  return rest + (1 - rest - half + (z2 * (even + z * odd) - high * low));
}

/** The sine of radians. */
export function sin(x: number): number {
  if (!(Math.abs(x) < Infinity)) return NaN;
  // The least ones have no bits below, and 0 keeps its sign.
  if (Math.abs(x) < 1e-8) return x;
  const { quarters, high, low } = reduced(x);
  const y = quarters & 1 ? cosine(high, low) : sine(high, low);
  return quarters & 2 ? -y : y;
}

/** The cosine of radians. */
export function cos(x: number): number {
  if (!(Math.abs(x) < Infinity)) return NaN;
  const { quarters, high, low } = reduced(x);
  const y = quarters & 1 ? sine(high, low) : cosine(high, low);
  return quarters === 1 || quarters === 2 ? -y : y;
}

/** The tangent of radians. */
export function tan(x: number): number {
  if (!(Math.abs(x) < Infinity)) return NaN;
  if (Math.abs(x) < 1e-8) return x;
  const { quarters, high, low } = reduced(x);
  const [y, z] = [sine(high, low), cosine(high, low)];
  return quarters & 1 ? -z / y : y / z;
}
