/** The operators of a cell as their definitions say, one row at a time, in double precision. */
import type { Cell } from "../../src/graph/cell.ts";
import type { Operator, Value } from "../../src/graph/operator.ts";
import { gelu } from "../kernels/reference/activation.ts";
import { normalize } from "../kernels/reference/norm.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { applyToImage, isImageOperator, stack } from "./naive_images.ts";

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
    if (operator.op === "ArgMax") {
      const row = given[0];
      const best = Math.max(...row);
      const gaps = row.map((x) => best - x).filter((gap) => gap > 0);
      margin = Math.min(margin, ...gaps);
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

function apply(
  operator: Operator,
  given: readonly (readonly number[])[],
): (readonly number[])[] {
  const [x = [], second = [], third = []] = given;
  if (isImageOperator(operator)) return [applyToImage(operator, x)];
  switch (operator.op) {
    case "Gather":
      return [rowOf(operator.table, x[0])];
    case "Gemm":
      return [affine(operator.weight, x, operator.bias)];
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
      return [x.map((a, k) => a + second[k])];
    case "Sub":
      return [x.map((a, k) => a - second[k])];
    case "Mul":
      return [x.map((a, k) => a * second[k])];
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
    case "LayerNormalization": {
      const { scale, bias, epsilon } = operator;
      return [[
        ...normalize(x, scale.data, bias?.data, epsilon, true),
      ]];
    }
    case "CacheAppend":
    case "Attention":
    case "AdditiveAttention":
      throw new Error(`${operator.op} needs the caches of a request`);
    case "Softmax": {
      const best = Math.max(...x);
      const powers = x.map((a) => Math.exp(a - best));
      const sum = powers.reduce((a, b) => a + b);
      return [powers.map((power) => power / sum)];
    }
    case "Concat":
      return [
        operator.outputs[0].image
          ? stack(operator.inputs, given)
          : given.flat(),
      ];
    case "Slice":
      return [
        x.slice(operator.start, operator.start + operator.outputs[0].width),
      ];
    case "ArgMax":
      return [[x.indexOf(Math.max(...x))]];
    case "Constant":
      return [[...operator.value.data]];
  }
}
