/**
 * Many elements, one number: along axes, in row-major order of the elements that are reduced, from the first on.
 * Floats in f64 and rounded once; integers exactly, wrapped around at the end as their type does.
 */
import { exp } from "../base/elementary/exponential.ts";
import { log } from "../base/elementary/logarithm.ts";
import {
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import { bigOf } from "./convert.ts";
import {
  BOOLS,
  flag,
  input,
  int,
  ints,
  NUMBERS,
  optionalWhole,
  type PlainInputs,
  scalar,
} from "./given.ts";
import {
  axesOf,
  axisOf,
  type Lanes,
  lanesOf,
  outputOf,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

/** Types of sums. */
const SUMMED: readonly PlainType[] = [
  "float32",
  "int32",
  "int64",
  "uint32",
  "uint64",
];

/** What a lane's elements come to. */
interface Reduction {
  readonly floats: (lane: Float64Array) => number;
  readonly integers: (lane: readonly bigint[], type: PlainType) => bigint;
}

/** Dims of a result, with the reduced axes as 1 or without them. */
function keptDims({ kept, ones }: Lanes, attributes: PlainAttributes) {
  return flag(attributes, "keepdims", true) ? ones : kept;
}

function reduced(
  data: PlainTensor,
  axes: readonly number[],
  { floats, integers }: Reduction,
  dimsOf: (lanes: Lanes) => readonly number[],
): PlainTensor {
  const lanes = lanesOf(data.dims, axes);
  const { starts, steps } = lanes;
  const result = outputOf(data.type, dimsOf(lanes));
  const from: PlainArrays[PlainType] = data.data;
  const to: PlainArrays[PlainType] = result.data;
  if (data.type === "float32") {
    const lane = new Float64Array(steps.length);
    starts.forEach((start, l) => {
      steps.forEach((step, i) => lane[i] = Number(from[start + step]));
      to[l] = floats(lane);
    });
    return result;
  }
  const lane = new Array<bigint>(steps.length);
  starts.forEach((start, l) => {
    steps.forEach((step, i) => lane[i] = BigInt(from[start + step]));
    const value = integers(lane, data.type);
    to[l] = isBig(to) ? value : Number(BigInt.asIntN(32, value));
  });
  return result;
}

/** Axes are an attribute before version `until` of the operator set, an input from then on; none are all. */
function reductionAxes(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  opset: number,
  until: number,
  rank: number,
): readonly number[] {
  const given = opset < until
    ? ints(attributes, "axes")
    : optionalWhole(inputs, 1, "axes");
  if (given && given.length > 0) return axesOf(given, rank);
  return flag(attributes, "noop_with_empty_axes") ? [] : upTo(rank);
}

function reduction(
  since: readonly number[],
  until: number,
  types: readonly PlainType[],
  what: Reduction,
): PlainOperator {
  return {
    since,
    types,
    run: (inputs, attributes, { opset }) => {
      const data = input(inputs, 0, "data");
      const rank = data.dims.length;
      const axes = reductionAxes(inputs, attributes, opset, until, rank);
      return [
        reduced(data, axes, what, (lanes) => keptDims(lanes, attributes)),
      ];
    },
  };
}

const sum = (lane: Iterable<number>): number => {
  let total = 0;
  for (const x of lane) total += x;
  return total;
};
const total = (lane: readonly bigint[]) => lane.reduce((a, b) => a + b, 0n);
const size = (x: bigint) => x < 0n ? -x : x;

/** For functions that leave the integers: in f64, cut off. */
function throughFloats(
  f: (lane: Float64Array) => number,
): Reduction {
  return {
    floats: f,
    integers: (lane, type) => bigOf(f(Float64Array.from(lane, Number)), type),
  };
}

/** The logarithm of a sum of exponentials, from the largest down so that none overflows. */
function logSumExp(lane: Float64Array): number {
  const most = lane.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(most)) return most;
  return most + log(sum(lane.map((x) => exp(x - most))));
}

/** Smallest and largest of an integer type; what an empty maximum or minimum is. */
function limitsOf(type: PlainType): [least: bigint, most: bigint] {
  if (type === "bool") return [0n, 1n];
  const bits = BigInt(/\d+/.exec(type)?.[0] ?? 64);
  return type.startsWith("u")
    ? [0n, (1n << bits) - 1n]
    : [-(1n << bits - 1n), (1n << bits - 1n) - 1n];
}

const OLD = [1, 11, 13, 18];
const EXTREMES = [1, 11, 12, 13, 18, 20];
const ORDERED = [...NUMBERS, ...BOOLS];

const REDUCTIONS_ONLY: Readonly<Record<string, PlainOperator>> = {
  ReduceSum: reduction([1, 11, 13], 13, SUMMED, {
    floats: sum,
    integers: total,
  }),
  ReduceMean: reduction(OLD, 18, SUMMED, {
    floats: (lane) => sum(lane) / lane.length,
    integers: (lane) => {
      if (lane.length === 0) throw new RangeError("a mean of no integers");
      return total(lane) / BigInt(lane.length);
    },
  }),
  ReduceProd: reduction(OLD, 18, SUMMED, {
    floats: (lane) => lane.reduce((a, b) => a * b, 1),
    integers: (lane) => lane.reduce((a, b) => BigInt.asIntN(64, a * b), 1n),
  }),
  ReduceMax: reduction(EXTREMES, 18, ORDERED, {
    floats: (lane) => lane.reduce((a, b) => Math.max(a, b), -Infinity),
    integers: (lane, type) =>
      lane.reduce((a, b) => a > b ? a : b, limitsOf(type)[0]),
  }),
  ReduceMin: reduction(EXTREMES, 18, ORDERED, {
    floats: (lane) => lane.reduce((a, b) => Math.min(a, b), Infinity),
    integers: (lane, type) =>
      lane.reduce((a, b) => a < b ? a : b, limitsOf(type)[1]),
  }),
  ReduceL1: reduction(OLD, 18, SUMMED, {
    floats: (lane) => sum(lane.map(Math.abs)),
    integers: (lane) => total(lane.map(size)),
  }),
  ReduceL2: reduction(
    OLD,
    18,
    SUMMED,
    throughFloats((lane) => Math.sqrt(sum(lane.map((x) => x * x)))),
  ),
  ReduceSumSquare: reduction(OLD, 18, SUMMED, {
    floats: (lane) => sum(lane.map((x) => x * x)),
    integers: (lane) => total(lane.map((x) => x * x)),
  }),
  ReduceLogSum: reduction(
    [...OLD, 28],
    18,
    SUMMED,
    throughFloats((lane) => log(sum(lane))),
  ),
  ReduceLogSumExp: reduction(
    [...OLD, 28],
    18,
    SUMMED,
    throughFloats(logSumExp),
  ),
};

/** Index of the best element of every lane: the first of equals, or the last. */
function argOf(isBetter: (a: number | bigint, b: number | bigint) => boolean) {
  const operator: PlainOperator = {
    since: [1, 11, 12, 13],
    types: NUMBERS,
    run: (inputs, attributes) => {
      const data = input(inputs, 0, "data");
      const axis = axisOf(int(attributes, "axis", 0), data.dims.length);
      const isLast = flag(attributes, "select_last_index");
      const lanes = lanesOf(data.dims, [axis]);
      if (lanes.steps.length === 0) {
        throw new RangeError(`axis ${axis} has no elements`);
      }
      const elements: PlainArrays[PlainType] = data.data;
      const result = outputOf("int64", keptDims(lanes, attributes));
      lanes.starts.forEach((start, l) => {
        let best = 0;
        for (let i = 1; i < lanes.steps.length; i++) {
          const [x, y] = [
            elements[start + lanes.steps[i]],
            elements[start + lanes.steps[best]],
          ];
          if (isBetter(x, y) || isLast && x === y) best = i;
        }
        result.data[l] = BigInt(best);
      });
      return [result];
    },
  };
  return operator;
}

/** Sums, or products, of an axis's elements so far. */
function running(since: readonly number[], isSum: boolean): PlainOperator {
  return {
    since,
    types: SUMMED,
    run: (inputs, attributes) => {
      const x = input(inputs, 0, "x");
      const axis = axisOf(
        scalar(inputs, 1, "axis", ["int32", "int64"]),
        x.dims.length,
      );
      const isExclusive = flag(attributes, "exclusive");
      const { starts, steps } = lanesOf(x.dims, [axis]);
      const order = flag(attributes, "reverse")
        ? Array.from(steps).reverse()
        : steps;
      const result = outputOf(x.type, x.dims);
      const from: PlainArrays[PlainType] = x.data;
      const to: PlainArrays[PlainType] = result.data;
      for (const start of starts) {
        if (isBig(from) && isBig(to)) {
          let so = isSum ? 0n : 1n;
          for (const step of order) {
            const next = isSum
              ? so + from[start + step]
              : so * from[start + step];
            to[start + step] = isExclusive ? so : next;
            so = BigInt.asIntN(64, next);
          }
        } else if (!isBig(from) && !isBig(to)) {
          let so = isSum ? 0 : 1;
          const times = x.type === "float32"
            ? (a: number, b: number) => a * b
            : Math.imul;
          for (const step of order) {
            const next = isSum
              ? so + from[start + step]
              : times(so, from[start + step]);
            to[start + step] = isExclusive ? so : next;
            so = next;
          }
        }
      }
      return [result];
    },
  };
}

export const REDUCTIONS: Readonly<Record<string, PlainOperator>> = {
  ...REDUCTIONS_ONLY,
  ArgMax: argOf((a, b) => a > b),
  ArgMin: argOf((a, b) => a < b),
  CumSum: running([11, 14], true),
  CumProd: running([26], false),
};
