/** Of two positive integers (Euclid, Elements, VII, 2). */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
