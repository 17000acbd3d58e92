/** Powers of two, and the exponents of numbers: exact, where `2 ** k` and `Math.log2` need not be. */

/** The least power of two above 0, and the greatest below Infinity. */
const [LEAST, MOST] = [-1074, 1023];
/** Of the least number that is no subnormal one. */
const NORMAL = -1022;

const POWERS = new Float64Array(MOST - LEAST + 1);
for (let i = 0, power = Number.MIN_VALUE; i < POWERS.length; i++, power *= 2) {
  POWERS[i] = power;
}

/** 2^k. @param k from -1074 to 1023 */
export function powerOfTwo(k: number): number {
  return POWERS[k - LEAST];
}

/** y 2^k; 0 or Infinity where that is out of reach. @param k a whole number */
export function scaled(y: number, k: number): number {
  while (k > MOST) {
    if (y === 0 || Math.abs(y) === Infinity) return y;
    y *= powerOfTwo(MOST);
    k -= MOST;
  }
  // In one step into the subnormal numbers, which rounds once.
  while (k < LEAST) {
    if (y === 0) return y;
    y *= powerOfTwo(NORMAL);
    k -= NORMAL;
  }
  return y * powerOfTwo(k);
}

const number = new Float64Array(1);
const halves = new Uint32Array(number.buffer);
/** Where the half with sign and exponent lies, which is the machine's own. */
const UPPER = new Uint8Array(Uint32Array.of(1).buffer)[0];
const BELOW = 54;

/** The k of 2^k <= x < 2^(k + 1). @param x above 0, and finite */
export function exponentOf(x: number): number {
  const isNormal = x >= powerOfTwo(NORMAL);
  number[0] = isNormal ? x : x * powerOfTwo(BELOW);
  return (halves[UPPER] >>> 20) - MOST - (isNormal ? 0 : BELOW);
}
