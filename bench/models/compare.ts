/** Results of one network from two sides. */

/** A result of a batch: [batch, ...], images [batch, channels, height, width]. */
export interface BatchResult {
  readonly dims: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** Numbers of request i, one result after the other, images as the engine has them: channels last. */
export function numbersOf(
  results: readonly BatchResult[],
  i: number,
): number[] {
  return results.flatMap(({ dims: [batch, ...dims], data }) => {
    const each = data.length / batch;
    const own = Array.from(
      { length: each },
      (_, at) => Number(data[i * each + at]),
    );
    if (dims.length < 3) return own;
    const [channels, height, width] = dims;
    const pixels = height * width;
    return own.map((_, at) =>
      own[at % channels * pixels + Math.floor(at / channels)]
    );
  });
}

/**
 * The largest difference, relative to the greatest of the expected numbers, or to 1 if none is greater: a sum of
 * products of thousands is not exact to thousandths.
 * @param tolerance what it may be
 * @throws {Error} if one is above the tolerance, or there are not as many numbers
 */
export function greatestDifference(
  what: string,
  { got, expected, tolerance }: {
    got: ArrayLike<number>;
    expected: ArrayLike<number>;
    tolerance: number;
  },
): number {
  if (got.length !== expected.length) {
    throw new Error(`${what}: ${got.length} and ${expected.length} numbers`);
  }
  let size = 1;
  for (let i = 0; i < expected.length; i++) {
    size = Math.max(size, Math.abs(expected[i]));
  }
  let greatest = 0;
  for (let i = 0; i < got.length; i++) {
    const apart = Math.abs(got[i] - expected[i]) / size;
    if (!(apart <= tolerance)) {
      throw new Error(`${what}: ${got[i]} and ${expected[i]} at ${i}`);
    }
    greatest = Math.max(greatest, apart);
  }
  return greatest;
}
