/**
 * Products of matrices. A sum takes its products in the order of the inner axis, from the first: floats in f64,
 * rounded once; integers exactly, wrapped around at the end as their type does.
 */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import type { NumberArray } from "./convolution.ts";
import {
  checkRank,
  flag,
  float,
  FLOATS,
  floats,
  input,
  optionalFloats,
} from "./given.ts";
import {
  broadcastDims,
  broadcastPositions,
  outputOf,
  permuted,
} from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** Where the matrices of a product lie. */
interface Product {
  /** Dims of the result. */
  readonly dims: readonly number[];
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
  /** First element of each pair of matrices, in both. */
  readonly pairs: readonly (readonly [a: number, b: number])[];
}

/** How dims multiply: the last two axes are matrices, those before broadcast; a vector is a row, or a column. */
function productOf(a: readonly number[], b: readonly number[]): Product {
  const left = a.length === 1 ? [1, a[0]] : a;
  const right = b.length === 1 ? [b[0], 1] : b;
  const [rows, inner] = left.slice(-2);
  const [depth, columns] = right.slice(-2);
  if (left.length < 2 || right.length < 2 || inner !== depth) {
    throw new RangeError(
      `dims ${describeShape(a)} and ${describeShape(b)} do not multiply`,
    );
  }
  const [leads, trails] = [left.slice(0, -2), right.slice(0, -2)];
  const batch = broadcastDims(leads, trails);
  const [at, bt] = [
    broadcastPositions(leads, batch),
    broadcastPositions(trails, batch),
  ];
  return {
    dims: [
      ...batch,
      ...(a.length === 1 ? [] : [rows]),
      ...(b.length === 1 ? [] : [columns]),
    ],
    rows,
    inner,
    columns,
    pairs: Array.from(
      at,
      (from, i) => [from * rows * inner, bt[i] * inner * columns] as const,
    ),
  };
}

/** Sums of a product of matrices in f64, which is exact for integers as long as they stay below 2^53. */
export function multiplied(
  a: NumberArray,
  b: NumberArray,
): { dims: readonly number[]; sums: Float64Array } {
  const { dims, rows, inner, columns, pairs } = productOf(a.dims, b.dims);
  const sums = new Float64Array(outputOf("bool", dims).data.length);
  pairs.forEach(([left, right], pair) => {
    for (let i = 0; i < rows; i++) {
      const to = (pair * rows + i) * columns;
      for (let k = 0; k < inner; k++) {
        const factor = a.data[left + i * inner + k];
        const from = right + k * columns;
        for (let j = 0; j < columns; j++) {
          sums[to + j] += factor * b.data[from + j];
        }
      }
    }
  });
  return { dims, sums };
}

function multipliedExactly(a: PlainTensor, b: PlainTensor): PlainTensor {
  const { dims, rows, inner, columns, pairs } = productOf(a.dims, b.dims);
  const result = outputOf(a.type, dims);
  const to: PlainArrays[PlainType] = result.data;
  const [left, right] = [a, b].map(({ data }) =>
    Array.from<number | bigint, bigint>(data, BigInt)
  );
  pairs.forEach(([atLeft, atRight], pair) => {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        let sum = 0n;
        for (let k = 0; k < inner; k++) {
          sum += left[atLeft + i * inner + k] *
            right[atRight + k * columns + j];
        }
        const at = (pair * rows + i) * columns + j;
        to[at] = isBig(to) ? sum : Number(BigInt.asIntN(32, sum));
      }
    }
  });
  return result;
}

const MatMul: PlainOperator = {
  since: [1, 9, 13],
  types: ["float32", "int32", "int64", "uint32", "uint64"],
  run: (inputs) => {
    const a = input(inputs, 0, "A");
    const b = input(inputs, 1, "B", [a.type]);
    if (a.type !== "float32" || b.type !== "float32") {
      return [multipliedExactly(a, b)];
    }
    const { dims, sums } = multiplied(a, b);
    return [{ type: "float32", dims, data: Float32Array.from(sums) }];
  },
};

/** The sum of products times alpha, then C times beta is added, all in f64. */
const Gemm: PlainOperator = {
  since: [1, 6, 7, 9, 11, 13],
  types: FLOATS,
  limits: "no integers",
  run: (inputs, attributes) => {
    let a = floats(inputs, 0, "A");
    let b = floats(inputs, 1, "B");
    const c = optionalFloats(inputs, 2, "C");
    checkRank(0, "A", a, 2, 2);
    checkRank(1, "B", b, 2, 2);
    if (flag(attributes, "transA")) a = permuted(a, [1, 0]);
    if (flag(attributes, "transB")) b = permuted(b, [1, 0]);
    const alpha = float(attributes, "alpha", 1);
    const beta = float(attributes, "beta", 1);
    const { dims, sums } = multiplied(a, b);
    const at = c && broadcastPositions(c.dims, dims);
    const result = outputOf("float32", dims);
    for (let i = 0; i < sums.length; i++) {
      result.data[i] = alpha * sums[i] + (at ? beta * c.data[at[i]] : 0);
    }
    return [result];
  },
};

/** Determinant of the last two axes, by elimination with the largest pivot of each column, in f64. */
const Det: PlainOperator = {
  since: [11, 22],
  types: FLOATS,
  run: (inputs) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 2);
    const [size, columns] = x.dims.slice(-2);
    if (size !== columns) {
      throw new RangeError(
        `input 0 (X) has dims ${describeShape(x.dims)}, expected squares`,
      );
    }
    const dims = x.dims.slice(0, -2);
    const result = outputOf("float32", dims);
    for (let i = 0; i < elementCount(dims); i++) {
      const square = x.data.subarray(i * size * size, (i + 1) * size * size);
      result.data[i] = determinant(Float64Array.from(square), size);
    }
    return [result];
  },
};

function determinant(square: Float64Array, size: number): number {
  let product = 1;
  const rows = Array.from(
    { length: size },
    (_, row) => square.subarray(row * size, (row + 1) * size),
  );
  for (let column = 0; column < size; column++) {
    let best = column;
    for (let row = column; row < size; row++) {
      if (Math.abs(rows[row][column]) > Math.abs(rows[best][column])) {
        best = row;
      }
    }
    if (best !== column) {
      [rows[best], rows[column]] = [rows[column], rows[best]];
      product = -product;
    }
    const pivot = rows[column][column];
    product *= pivot;
    if (pivot === 0) return 0;
    for (let row = column + 1; row < size; row++) {
      const factor = rows[row][column] / pivot;
      for (let at = column; at < size; at++) {
        rows[row][at] -= factor * rows[column][at];
      }
    }
  }
  return product;
}

export const MATRICES: Readonly<Record<string, PlainOperator>> = {
  MatMul,
  Gemm,
  Det,
};
