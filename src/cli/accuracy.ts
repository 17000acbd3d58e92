/** How far results of one model are from those of another. */
import type { Result } from "../graph/result.ts";
import type { InputSpec } from "../onnx/input_tensors.ts";
import type { Tensor, TensorData } from "../tensor/tensor.ts";

/** One output of all requests. */
export interface OutputAccuracy {
  readonly name: string;
  /** Of all elements of all requests. */
  readonly maxError: number;
  readonly meanError: number;
  /** Largest magnitude that it should have. */
  readonly largest: number;
  /** Cosine of the angle between what it is and should be, the mean of the requests. */
  readonly cosine: number;
  /** Share of the rows of the last axis whose largest element is the same one; undefined where rows are of one element. */
  readonly sameArgMax?: number;
}

/** @param results with what they should be, by request */
export function accuracyOf(
  { name, shape }: InputSpec,
  results: readonly (readonly [got: Result, wanted: Result])[],
): OutputAccuracy {
  const width = shape.at(-1) ?? 1;
  let [maxError, sumOfErrors, largest, cosines] = [0, 0, 0, 0];
  let [elements, rows, same] = [0, 0, 0];
  for (const [got, wanted] of results) {
    const [a, b] = [got, wanted].map((result) =>
      numbersOf(result[name] as Tensor<TensorData>)
    );
    let [product, squareA, squareB] = [0, 0, 0];
    b.forEach((should, i) => {
      const error = Math.abs(a[i] - should);
      maxError = Math.max(maxError, error);
      sumOfErrors += error;
      largest = Math.max(largest, Math.abs(should));
      product += a[i] * should;
      squareA += a[i] ** 2;
      squareB += should ** 2;
    });
    cosines += squareA === squareB && squareA === 0
      ? 1
      : product / (Math.sqrt(squareA * squareB) || Infinity);
    elements += b.length;
    for (let at = 0; at < b.length; at += width) {
      rows++;
      const of = (numbers: Float64Array) =>
        argMax(numbers.subarray(at, at + width));
      if (of(a) === of(b)) same++;
    }
  }
  return {
    ...{ name, maxError, largest },
    meanError: sumOfErrors / elements,
    cosine: cosines / results.length,
    ...(width > 1 && { sameArgMax: same / rows }),
  };
}

function numbersOf({ data }: Tensor<TensorData>): Float64Array {
  return Float64Array.from(data as ArrayLike<number | bigint>, Number);
}

/** The first of the largest. */
function argMax(numbers: Float64Array): number {
  let best = 0;
  numbers.forEach((value, i) => {
    if (value > numbers[best]) best = i;
  });
  return best;
}
