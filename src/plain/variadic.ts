/** Any number of tensors in, broadcast, one out; the first two are joined first, then the next. */
import {
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import { mapped2 } from "./binary.ts";
import {
  BOOLS,
  float,
  FLOATS,
  input,
  NUMBERS,
  optionalScalar,
  type PlainInputs,
} from "./given.ts";
import { broadcastDims, broadcastTo, outputOf } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";
import { mapped } from "./unary.ts";

function folded(
  inputs: PlainInputs,
  f: (a: number, b: number) => number,
  big: (a: bigint, b: bigint) => bigint,
): PlainTensor {
  return inputs.map((_, i) => input(inputs, i, `data_${i}`)).reduce((a, b) =>
    mapped2(a, b, a.type, f, big)
  );
}

function extreme(
  f: (a: number, b: number) => number,
  big: (a: bigint, b: bigint) => bigint,
): PlainOperator {
  return {
    since: [1, 6, 8, 12, 13],
    types: NUMBERS,
    run: (inputs) => {
      input(inputs, 0, "data_0");
      return [folded(inputs, f, big)];
    },
  };
}

/** Sums in f64 of all inputs, first to last. */
function sums(inputs: PlainInputs): { dims: number[]; sums: Float64Array } {
  input(inputs, 0, "data_0");
  const all = inputs.map((_, i) => input(inputs, i, `data_${i}`, FLOATS));
  const dims = broadcastDims(...all.map((x) => x.dims));
  const sums = new Float64Array(outputOf("float32", dims).data.length);
  for (const x of all) {
    const { data } = broadcastTo(x, dims) as PlainTensor<"float32">;
    for (let i = 0; i < sums.length; i++) sums[i] += data[i];
  }
  return { dims, sums };
}

const Sum: PlainOperator = {
  since: [1, 6, 8, 13],
  types: FLOATS,
  run: (inputs) => {
    const { dims, sums: data } = sums(inputs);
    return [{ type: "float32", dims, data: Float32Array.from(data) }];
  },
};

const Mean: PlainOperator = {
  since: [1, 6, 8, 13],
  types: FLOATS,
  run: (inputs) => {
    const { dims, sums: data } = sums(inputs);
    return [{
      type: "float32",
      dims,
      data: Float32Array.from(data, (sum) => sum / inputs.length),
    }];
  },
};

/** Bounds are attributes before version 11 of the operator set, inputs from then on. A bound wins over NaN never. */
const Clip: PlainOperator = {
  since: [1, 6, 11, 12, 13],
  types: NUMBERS,
  run: (inputs, attributes, { opset }) => {
    const x = input(inputs, 0, "input");
    if (opset < 11) {
      const least = float(attributes, "min", -Infinity);
      const most = float(attributes, "max", Infinity);
      return [mapped(x, x.type, (v) => Math.min(most, Math.max(v, least)))];
    }
    for (const [i, name] of [[1, "min"], [2, "max"]] as const) {
      optionalScalar(inputs, i, name, [x.type]);
    }
    const [least, most] = [inputs[1]?.data[0], inputs[2]?.data[0]];
    if (isBig(x.data)) {
      return [mapped(x, x.type, Number, (v) => {
        const raised = least !== undefined && v < least ? least as bigint : v;
        return most !== undefined && raised > most ? most as bigint : raised;
      })];
    }
    const [low, high] = [Number(least ?? -Infinity), Number(most ?? Infinity)];
    return [mapped(x, x.type, (v) => Math.min(high, Math.max(v, low)))];
  },
};

const Where: PlainOperator = {
  since: [9, 16],
  types: [...NUMBERS, ...BOOLS],
  dataInput: 1,
  run: (inputs) => {
    const condition = input(inputs, 0, "condition", BOOLS);
    const x = input(inputs, 1, "X");
    const y = input(inputs, 2, "Y", [x.type]);
    const dims = broadcastDims(condition.dims, x.dims, y.dims);
    const result = outputOf(x.type, dims);
    const holds = broadcastTo(condition, dims).data;
    const [left, right]: PlainArrays[PlainType][] = [
      broadcastTo(x, dims).data,
      broadcastTo(y, dims).data,
    ];
    const to: PlainArrays[PlainType] = result.data;
    for (let i = 0; i < to.length; i++) to[i] = holds[i] ? left[i] : right[i];
    return [result];
  },
};

export const VARIADIC: Readonly<Record<string, PlainOperator>> = {
  Max: extreme((a, b) => Math.max(a, b), (a, b) => a > b ? a : b),
  Min: extreme((a, b) => Math.min(a, b), (a, b) => a < b ? a : b),
  Sum,
  Mean,
  Clip,
  Where,
};
