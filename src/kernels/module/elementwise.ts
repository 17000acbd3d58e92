/** (m, n, aRows, outRows), rows of n floats. */
export type UnaryKernel = (
  m: number,
  n: number,
  aRows: number,
  outRows: number,
) => void;

/** (m, n, aRows, bRows, outRows), rows of n floats. */
export type BinaryKernel = (
  m: number,
  n: number,
  aRows: number,
  bRows: number,
  outRows: number,
) => void;
