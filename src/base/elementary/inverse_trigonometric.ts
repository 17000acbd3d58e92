/**
 * Arctangent, arcsine and arccosine in f64, to some units of the last place, the same bits in every JavaScript engine
 * (see `exponential.ts`). Source: Cody and Waite, "Software Manual for the Elementary Functions" (1980), chapters 10 and
 * 11: an arctangent is that of a number nearby, of which it is known, and that of a small one.
 */

/** The arctangents of eighths, from 0 to 1: what f64 has of them, and what is left. */
const OF_EIGHTHS = [
  [0, 0],
  [0.12435499454676144, -3.1253241424539383e-18],
  [0.24497866312686414, 1.0698755618734451e-17],
  [0.35877067027057225, -2.4623815582638635e-17],
  [0.4636476090008061, 2.2698777452961687e-17],
  [0.5585993153435624, -5.4556305485916264e-18],
  [0.6435011087932844, 1.5834785051444286e-17],
  [0.7188299996216245, -2.1478388444456983e-17],
  [0.7853981633974483, 3.061616997868383e-17],
] as const;

/** Of a quarter of a turn. */
const QUARTER = [1.5707963267948966, 6.123233995736766e-17] as const;

/** @param x from 0 to 1 */
function upToOne(x: number): readonly [high: number, low: number] {
  const eighths = Math.floor(8 * x + 0.5);
  const near = eighths / 8;
  const t = (x - near) / (1 + x * near);
  const z = t * t;
  const series = -1 / 3 + z * (1 / 5 + z * (-1 / 7 + z * (1 / 9 +
                z * (-1 / 11 + z * (1 / 13)))));
  const [high, low] = OF_EIGHTHS[eighths];
  const rest = t + (low + t * z * series);
  const sum = high + rest;
  return [sum, high - sum + rest];
}

/** The arctangent, in radians. */
export function atan(x: number): number {
  // The least ones have no bits below, and 0 keeps its sign.
  if (!(Math.abs(x) > 1e-8)) return x;
  const size = Math.abs(x);
  let [high, low] = upToOne(size > 1 ? 1 / size : size);
  if (size > 1) {
    low = QUARTER[1] - low;
    high = QUARTER[0] - high;
  }
  const angle = high + low;
  return x < 0 ? -angle : angle;
}

/** The arcsine, in radians; NaN beyond 1. */
export function asin(x: number): number {
  return Math.abs(x) < 1e-8 ? x : atan(x / Math.sqrt((1 - x) * (1 + x)));
}

/** The arccosine, in radians; NaN beyond 1. */
export function acos(x: number): number {
  return 2 * atan(Math.sqrt((1 - x) / (1 + x)));
}
