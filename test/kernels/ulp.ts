/** Distance of `got` from `expected` in units in the last place of f32 at `expected`. */
export function ulpError(got: number, expected: number): number {
  if (Object.is(got, Math.fround(expected))) return 0;
  if (!Number.isFinite(got) || Number.isNaN(expected)) return Infinity;
  const exponent = Math.max(-126, Math.floor(Math.log2(Math.abs(expected))));
  return Math.abs(got - expected) / 2 ** (exponent - 23);
}
