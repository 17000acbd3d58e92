/**
 * Operators of int8 as their definitions say, with the kernels' roundings, one request at a time. A quantised row is
 * its rows one after the other: scale, zero point, bytes.
 */
import type {
  OperatorName,
  OperatorOf,
  QuantizedOperator,
  Value,
} from "../../src/graph/operator.ts";
import { lastAxis, rowsOf } from "../../src/graph/row_layout.ts";
import type { SignedWeights } from "../../src/tensor/quantized.ts";
import { relu } from "../kernels/reference/activation.ts";
import { gruStep, lstmStep } from "../kernels/reference/cells.ts";
import { conv } from "../kernels/reference/image.ts";
import {
  integerSum,
  type QuantizedRow,
  quantizeDynamic,
  quantizeStatic,
} from "../kernels/reference/q8.ts";

const NAMES: readonly OperatorName[] = [
  "DynamicQuantizeLinear",
  "QuantizeLinear",
  "DequantizeLinear",
  "MatMulInteger",
  "MatMulIntegerToFloat",
  "DynamicMatMulInteger",
  "DynamicMatMulIntegerToFloat",
  "QLinearMatMul",
  "ConvInteger",
  "ConvIntegerToFloat",
  "QLinearConv",
  "DynamicQuantizeLSTM",
  "DynamicQuantizeGRU",
] satisfies readonly QuantizedOperator["op"][];

export function isQuantizedOperator(
  operator: { op: OperatorName },
): operator is QuantizedOperator {
  return NAMES.includes(operator.op);
}

const flat = (rows: readonly QuantizedRow[]): number[] =>
  rows.flatMap(({ scale, zero, q }) => [scale, zero, ...q]);

const parts = (row: readonly number[], count: number): number[][] =>
  Array.from(
    { length: count },
    (_, i) => row.slice(i * row.length / count, (i + 1) * row.length / count),
  );

function quantizedRows(value: Value, row: readonly number[]): QuantizedRow[] {
  return parts(row, rowsOf(value)).map(([scale, zero, ...q]) => ({
    scale,
    zero,
    q,
  }));
}

/** Sums scaled and biased, rounded as the kernels round. */
const scaled = (sum: number, rowScale: number, scale: number, bias = 0) =>
  Math.fround(
    Math.fround(Math.fround(sum) * Math.fround(rowScale * scale)) + bias,
  );

const activated = (x: number, activation?: string): number => {
  if (activation === undefined) return x;
  // The others round by themselves: bytes would be close, not equal.
  if (activation !== "Relu") throw new Error(`${activation} is not tried`);
  return relu(x);
};

/** What a matrix stands for. */
const floats = ({ values, scale, zero }: SignedWeights): Float64Array => {
  const columns = values.length / scale.length;
  return Float64Array.from(values, (value, i) => {
    const row = Math.floor(i / columns);
    return (value - zero[row]) * scale[row];
  });
};

/** A row as its quantised numbers stand for it. */
const seen = (row: readonly number[], levels: number): number[] => {
  const { scale, zero, q } = quantizeDynamic(row, levels);
  return q.map((byte) => (byte - zero) * scale);
};

export function applyQuantized(
  operator: QuantizedOperator,
  given: readonly (readonly number[])[],
): (readonly number[])[] {
  const [x, second, third] = given as [number[], number[], number[]];
  const input = operator.inputs[0];
  switch (operator.op) {
    case "DynamicQuantizeLinear": {
      const { levels, per } = operator;
      if (per === "row") {
        return [
          flat(
            parts(x, rowsOf(input)).map((row) => quantizeDynamic(row, levels)),
          ),
        ];
      }
      const { scale, zero, q } = quantizeDynamic(x, levels);
      return [flat(parts(q, rowsOf(input)).map((q) => ({ scale, zero, q })))];
    }
    case "QuantizeLinear": {
      const { scale, zero } = operator;
      return [
        flat(
          parts(x, rowsOf(input)).map((row) =>
            quantizeStatic(row, scale, zero)
          ),
        ),
      ];
    }
    case "DequantizeLinear":
      return [
        quantizedRows(input, x).flatMap(({ scale, zero, q }) =>
          q.map((byte) => Math.fround((byte - zero) * scale))
        ),
      ];
    case "MatMulInteger":
    case "MatMulIntegerToFloat":
    case "QLinearMatMul": {
      const rows = quantizedRows(input, x).map((row) =>
        products(operator, row)
      );
      if (operator.op !== "QLinearMatMul") return [rows.flat()];
      return [flat(rows.map((row) => requantized(operator, row)))];
    }
    case "DynamicMatMulInteger":
    case "DynamicMatMulIntegerToFloat": {
      const { op, transposed, inputs: [a, b], outputs: [c] } = operator;
      const [n, k] = [lastAxis(c), lastAxis(a)];
      const [left, right] = [quantizedRows(a, x), quantizedRows(b, second)];
      const each = transposed ? n : k;
      const m = left.length / (right.length / each);
      return [left.flatMap((row, i) => {
        const matrix = right.slice(Math.floor(i / m) * each).slice(0, each);
        return Array.from({ length: n }, (_, j) => {
          const column = transposed ? matrix[j].q : matrix.map(({ q }) => q[j]);
          const { scale, zero } = transposed ? matrix[j] : matrix[0];
          const sum = integerSum(row, column, zero);
          return op === "DynamicMatMulInteger"
            ? sum
            : scaled(sum, row.scale, scale);
        });
      })];
    }
    case "ConvInteger":
    case "ConvIntegerToFloat":
    case "QLinearConv": {
      const [{ scale: rowScale, zero, q }] = quantizedRows(input, x);
      const { weight, bias, shape, op } = operator;
      const k = weight.values.length / shape.outChannels;
      const sums = conv(
        shape,
        q.map((byte) => byte - zero),
        Float64Array.from(
          weight.values,
          (value, i) => value - weight.zero[Math.floor(i / k)],
        ),
        new Float64Array(shape.outChannels),
      );
      if (op === "ConvInteger") return [[...sums]];
      const row = Array.from(sums, (sum, i) => {
        const channel = i % shape.outChannels;
        return scaled(
          sum,
          rowScale,
          weight.scale[channel],
          bias?.data[channel],
        );
      });
      return [op === "QLinearConv" ? flat([requantized(operator, row)]) : row];
    }
    case "DynamicQuantizeLSTM": {
      const { levels } = operator;
      const { h, c } = lstmStep(
        naive(operator, 4 * second.length),
        seen(x, levels),
        seen(second, levels),
        third,
      );
      return [[...h], [...c]];
    }
    case "DynamicQuantizeGRU":
      return [[
        ...gruStep(
          naive(operator, 3 * second.length),
          seen(x, operator.levels),
          seen(second, operator.levels),
          second,
        ),
      ]];
  }
}

function naive(
  { w, r, b }: OperatorOf<"DynamicQuantizeLSTM">,
  gates: number,
) {
  return {
    w: floats(w),
    r: floats(r),
    b: b?.data ?? new Float32Array(2 * gates),
  };
}

function products(
  { op, weight, bias, outputs: [y], inputs: [q] }: OperatorOf<
    "MatMulInteger" | "QLinearMatMul"
  >,
  row: QuantizedRow,
): number[] {
  const k = lastAxis(q);
  return Array.from({ length: lastAxis(y) }, (_, j) => {
    const column = weight.values.subarray(j * k, (j + 1) * k);
    const sum = integerSum(row, column, weight.zero[j]);
    return op === "MatMulInteger"
      ? sum
      : scaled(sum, row.scale, weight.scale[j], bias?.data[j]);
  });
}

function requantized(
  { scale, zero, activation }: OperatorOf<"QLinearMatMul" | "QLinearConv">,
  row: readonly number[],
): QuantizedRow {
  return quantizeStatic(
    row.map((x) => activated(x, activation)),
    scale,
    zero,
  );
}
