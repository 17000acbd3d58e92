/** The operators of a cell as their definitions say, one row at a time, in double precision. */
import type { Cell } from "../../src/graph/cell.ts";
import type { Operator, Value } from "../../src/graph/operator.ts";
import { axesOf, lastAxis, rowsOf } from "../../src/graph/row_layout.ts";
import { runPlain } from "../../src/plain/registry.ts";
import { numbersOf, plainOf } from "../../src/tensor/plain_tensor.ts";
import { erf, gelu, geluTanh, silu } from "../kernels/reference/activation.ts";
import { irfft, rfft } from "../kernels/reference/fft.ts";
import { normalize, topk } from "../kernels/reference/norm.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { applyToImage, isImageOperator, stack } from "./naive_images.ts";
import { applyQuantized, isQuantizedOperator } from "./naive_quantized.ts";

export interface NaiveRow {
  /** One row per output port. */
  readonly outputs: readonly (readonly number[])[];
  /** Largest magnitude of any value on the way. */
  readonly largest: number;
  /** Smallest distance, other than 0, between the two best entries of any ArgMax: below it the ids may differ. */
  readonly margin: number;
}

/** @param inputs one row per input port */
export function evaluateNaively(
  cell: Cell,
  inputs: readonly (readonly number[])[],
): NaiveRow {
  const rows = new Map<number, readonly number[]>();
  inputs.forEach((row, port) => rows.set(port, row));
  let largest = 0;
  let margin = Infinity;
  for (const operator of cell.operators) {
    const given = operator.inputs.map(({ id }) => rows.get(id)!);
    apply(operator, given).forEach((row, i) => {
      rows.set(operator.outputs[i].id, row);
      largest = Math.max(largest, ...row.map(Math.abs));
    });
    if (operator.op === "ArgMax" || operator.op === "TopK") {
      for (const row of cut(operator.inputs[0], given[0])) {
        const sorted = row.toSorted((a, b) => b - a);
        const considered = operator.op === "ArgMax" ? 2 : row.length;
        for (let i = 1; i < considered; i++) {
          const gap = sorted[i - 1] - sorted[i];
          if (gap > 0) margin = Math.min(margin, gap);
        }
      }
    }
  }
  const outputs = cell.results.map(({ id }: Value) => rows.get(id)!);
  return { outputs, largest, margin };
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Row `i` of a matrix. */
function rowOf({ shape, data }: Tensor, i: number): number[] {
  const width = shape[1];
  return [...data.subarray(i * width, (i + 1) * width)];
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

/** W x + b; b is an optional run of `bias` from `at`. */
function affine(
  w: Tensor,
  x: readonly number[],
  bias?: Tensor,
  at = 0,
): number[] {
  return Array.from(
    { length: w.shape[0] },
    (_, i) => dot(rowOf(w, i), x) + (bias ? bias.data[at + i] : 0),
  );
}

/** Equal parts of a row. */
function parts(row: readonly number[], count: number): number[][] {
  const width = row.length / count;
  return Array.from(
    { length: count },
    (_, i) => row.slice(i * width, (i + 1) * width),
  );
}

/** The rows that a value is: its last axis. */
function cut(value: Value, row: readonly number[]): (readonly number[])[] {
  return parts(row, rowsOf(value));
}

function apply(
  operator: Operator,
  given: readonly (readonly number[])[],
): (readonly number[])[] {
  const [x = [], second = [], third = []] = given;
  const byRow = (f: (row: readonly number[]) => Iterable<number>) =>
    cut(operator.inputs[0], x).flatMap((row) => [...f(row)]);
  /** The shorter one again and again. */
  const both = (f: (a: number, b: number) => number) =>
    Array.from(
      { length: Math.max(x.length, second.length) },
      (_, i) => f(x[i % x.length], second[i % second.length]),
    );
  if (isImageOperator(operator)) return [applyToImage(operator, x)];
  if (isQuantizedOperator(operator)) return applyQuantized(operator, given);
  switch (operator.op) {
    case "Gather":
      return [x.flatMap((id) => rowOf(operator.table, id))];
    case "Gemm":
      return [byRow((row) => affine(operator.weight, row, operator.bias))];
    case "MatMul": {
      const [a, b] = operator.inputs as [Value, Value];
      const [n, k] = [lastAxis(operator.outputs[0]), lastAxis(a)];
      const matrices = b.width / (n * k);
      const m = rowsOf(a) / matrices;
      return [Array.from({ length: operator.outputs[0].width }, (_, i) => {
        const [column, row] = [i % n, Math.floor(i / n)];
        const matrix = Math.floor(row / m) * n * k;
        return Array.from({ length: k }, (_, t) =>
          x[row * k + t] *
          second[
            matrix + (operator.transposed ? column * k + t : t * n + column)
          ])
          .reduce((sum, product) => sum + product, 0);
      })];
    }
    case "LSTM": {
      const fromX = affine(operator.w, x, operator.b);
      const fromH = affine(operator.r, second, operator.b, fromX.length);
      const [i, o, f, g] = parts(fromX.map((sum, k) => sum + fromH[k]), 4);
      const c = third.map((c, k) =>
        sigmoid(f[k]) * c + sigmoid(i[k]) * Math.tanh(g[k])
      );
      return [c.map((c, k) => sigmoid(o[k]) * Math.tanh(c)), c];
    }
    case "GRU": {
      const fromX = affine(operator.w, x, operator.b);
      const fromH = affine(operator.r, second, operator.b, fromX.length);
      const [zx, rx, nx] = parts(fromX, 3);
      const [zh, rh, nh] = parts(fromH, 3);
      return [second.map((h, k) => {
        const z = sigmoid(zx[k] + zh[k]);
        const r = sigmoid(rx[k] + rh[k]);
        return (1 - z) * Math.tanh(nx[k] + r * nh[k]) + z * h;
      })];
    }
    case "TreeLSTMLeaf": {
      const [i, o, u] = parts(affine(operator.w, x, operator.b), 3);
      const c = i.map((i, k) => sigmoid(i) * Math.tanh(u[k]));
      return [c.map((c, k) => sigmoid(o[k]) * Math.tanh(c)), c];
    }
    case "TreeLSTMNode": {
      const { arity } = operator;
      const gates = parts(
        affine(operator.u, given.slice(0, arity).flat(), operator.b),
        3 + arity,
      );
      const [i, o, u] = [gates[0], gates[1 + arity], gates[2 + arity]];
      const c = i.map((i, k) =>
        given.slice(arity).reduce(
          (sum, child, j) => sum + sigmoid(gates[1 + j][k]) * child[k],
          sigmoid(i) * Math.tanh(u[k]),
        )
      );
      return [c.map((c, k) => sigmoid(o[k]) * Math.tanh(c)), c];
    }
    case "Add":
      return [both((a, b) => a + b)];
    case "Sub":
      return [both((a, b) => a - b)];
    case "Mul":
      return [both((a, b) => a * b)];
    case "Div":
      return [both((a, b) => a / b)];
    case "Max":
      return [both(Math.max)];
    case "Min":
      return [both(Math.min)];
    case "Relu":
      return [x.map((a) => Math.max(0, a))];
    case "Clip": {
      const { least = -Infinity, most = Infinity } = operator;
      return [x.map((a) => Math.min(most, Math.max(least, a)))];
    }
    case "Sigmoid":
      return [x.map(sigmoid)];
    case "Tanh":
      return [x.map(Math.tanh)];
    case "Exp":
      return [x.map(Math.exp)];
    case "Gelu":
      return [x.map(gelu)];
    case "GeluTanh":
      return [x.map(geluTanh)];
    case "Swish":
      return [x.map(silu)];
    case "Erf":
      return [x.map(erf)];
    case "Sqrt":
      return [x.map(Math.sqrt)];
    case "Neg":
      return [x.map((a) => -a)];
    case "Abs":
      return [x.map(Math.abs)];
    case "LeakyRelu":
      return [x.map((a) => a < 0 ? operator.alpha * a : a)];
    case "HardSigmoid":
    case "HardSwish": {
      const { op, alpha, beta } = operator;
      const hard = (a: number) => Math.max(0, Math.min(1, alpha * a + beta));
      return [x.map((a) => op === "HardSwish" ? a * hard(a) : hard(a))];
    }
    case "LayerNormalization": {
      const { scale, bias, epsilon } = operator;
      return [
        byRow((row) => normalize(row, scale.data, bias?.data, epsilon, true)),
      ];
    }
    case "RMSNormalization": {
      const { scale, epsilon } = operator;
      return [
        byRow((row) => normalize(row, scale.data, undefined, epsilon, false)),
      ];
    }
    case "RowAttention": {
      const { heads, kvHeads, scale, causal, inputs: [q, k] } = operator;
      const [queries, keys] = [axesOf(q).at(-2)!, axesOf(k).at(-2)!];
      const [width, kvWidth] = [lastAxis(q), lastAxis(k)];
      const size = width / heads;
      return [x.map((_, i) => {
        const [at, row] = [i % width, Math.floor(i / width)];
        const head = Math.floor(at / size);
        const [group, query] = [Math.floor(row / queries), row % queries];
        const from = Math.floor(head / (heads / kvHeads)) * size;
        const first = (t: number) => (group * keys + t) * kvWidth + from;
        const seen = causal ? query + 1 : keys;
        const scores = Array.from({ length: seen }, (_, t) =>
          scale * dot(
            x.slice(row * width + head * size).slice(0, size),
            second.slice(first(t)),
          ));
        const powers = scores.map((score) =>
          Math.exp(score - Math.max(...scores))
        );
        const sum = powers.reduce((a, b) => a + b);
        return powers.reduce(
          (mean, power, t) => mean + power / sum * third[first(t) + at % size],
          0,
        );
      })];
    }
    case "CacheAppend":
    case "Attention":
    case "AdditiveAttention":
      throw new Error(`${operator.op} needs the caches of a request`);
    case "Softmax":
      return [byRow((row) => {
        const best = Math.max(...row);
        const powers = row.map((a) => Math.exp(a - best));
        const sum = powers.reduce((a, b) => a + b);
        return powers.map((power) => power / sum);
      })];
    case "Concat": {
      if (operator.outputs[0].image) return [stack(operator.inputs, given)];
      const rows = given.map((row, i) => cut(operator.inputs[i], row));
      return [rows[0].flatMap((_, i) => rows.flatMap((parts) => parts[i]))];
    }
    case "Slice": {
      const { start, outputs: [part] } = operator;
      return [byRow((row) => row.slice(start, start + lastAxis(part)))];
    }
    case "RFFT":
      return [byRow(rfft)];
    case "IRFFT": {
      const rows = rowsOf(operator.outputs[0]);
      return [parts(x, rows).flatMap((row) => [...irfft(row)])];
    }
    case "Magnitude": {
      const rows = rowsOf(operator.outputs[0]);
      return [
        parts(x, rows).flatMap((row) => {
          const [real, imaginary] = parts(row, 2);
          return real.map((value, k) => Math.hypot(value, imaginary[k]));
        }),
      ];
    }
    case "Reshape":
      return [x];
    case "Transpose": {
      const from = axesOf(operator.inputs[0]);
      const to = axesOf(operator.outputs[0]);
      return [x.map((_, i) => {
        const at = new Array<number>(from.length);
        for (let axis = to.length - 1; axis >= 0; axis--) {
          at[operator.perm[axis]] = i % to[axis];
          i = Math.floor(i / to[axis]);
        }
        return x[at.reduce((sum, k, axis) => sum * from[axis] + k, 0)];
      })];
    }
    case "Plain": {
      const { name, opset, attributes, operands, outputs } = operator;
      const tensors = operands.map((operand) =>
        operand !== undefined && "input" in operand
          ? plainOf("float32", operand.dims, given[operand.input])
          : operand
      );
      const context = { opset, outputs: outputs.length };
      return runPlain(name, tensors, attributes, context).map(numbersOf);
    }
    case "ArgMax":
      return [byRow((row) => [row.indexOf(Math.max(...row))])];
    case "TopK": {
      const { largest, outputs: [values] } = operator;
      const best = cut(operator.inputs[0], x).map((row) =>
        topk(row, lastAxis(values), largest)
      );
      return [
        best.flatMap(({ values }) => values),
        best.flatMap(({ ids }) => ids),
      ];
    }
    case "Constant":
      return [[...operator.value.data]];
  }
}
