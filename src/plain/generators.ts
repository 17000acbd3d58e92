/** Tensors that are made rather than moved or computed. */
import { cos } from "../base/elementary/trigonometric.ts";
import {
  isBig,
  PLAIN_TYPES,
  type PlainArrays,
  plainOf,
  type PlainTensor,
  type PlainType,
  scalarOf,
} from "../tensor/plain_tensor.ts";
import { typeOf } from "./convert.ts";
import {
  BOOLS,
  checkRank,
  floatList,
  FLOATS,
  input,
  int,
  ints,
  NUMBERS,
  optionalFloat,
  optionalInt,
  type PlainInputs,
  scalar,
  tensorAttribute,
  whole,
} from "./given.ts";
import {
  axisOf,
  checkOutput,
  ELEMENTS_MAX,
  outputOf,
  stridesOf,
} from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

const ANY: readonly PlainType[] = [...NUMBERS, ...BOOLS];

const Constant: PlainOperator = {
  since: [1, 9, 11, 12, 13, 19, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  limits: "no strings, no sparse_value",
  run: (_, attributes) => {
    const value = tensorAttribute(attributes, "value");
    if (value) return [value];
    const one = optionalFloat(attributes, "value_float");
    if (one !== undefined) return [scalarOf("float32", one)];
    const whole = optionalInt(attributes, "value_int");
    if (whole !== undefined) return [scalarOf("int64", whole)];
    const list = floatList(attributes, "value_floats");
    if (list) return [plainOf("float32", [list.length], list)];
    const numbers = ints(attributes, "value_ints");
    if (numbers) return [plainOf("int64", [numbers.length], numbers)];
    throw new TypeError("there is no value that is supported");
  },
};

/** A tensor of one element again and again. */
function filled(value: PlainTensor, dims: readonly number[]): PlainTensor {
  const result = outputOf(value.type, dims);
  // One fill for every type.
  (result.data as Float32Array).fill((value.data as Float32Array)[0]);
  return result;
}

const ConstantOfShape: PlainOperator = {
  since: [9, 20, 21, 23, 24, 25],
  types: PLAIN_TYPES,
  run: (inputs, attributes) => {
    const value = tensorAttribute(attributes, "value") ??
      scalarOf("float32", 0);
    if (value.data.length !== 1) {
      throw new RangeError(
        `attribute value has ${value.data.length} elements, expected one`,
      );
    }
    return [filled(value, whole(inputs, 0, "input"))];
  },
};

/** Steps of a range: of 64-bit integers exactly, of others by the quotient. */
function stepsOf(inputs: PlainInputs, quotient: number): number {
  const [start, limit, delta] = inputs.map((x) => x?.data[0]);
  if (
    typeof start !== "bigint" || typeof limit !== "bigint" ||
    typeof delta !== "bigint"
  ) return Math.ceil(quotient);
  const span = limit - start;
  // Quotients are cut off, which is upwards below 0.
  const isMore = span % delta !== 0n && span > 0n === delta > 0n;
  return Number(span / delta) + Number(isMore);
}

/** Numbers from start in steps of delta, of floats each start + i delta in f64, rounded once. */
const Range: PlainOperator = {
  since: [11, 27],
  types: ["float32", "int16", "int32", "int64"],
  run: (inputs) => {
    const { type } = input(inputs, 0, "start");
    const [start, limit, delta] = ["start", "limit", "delta"].map((name, i) =>
      scalar(inputs, i, name, [type])
    );
    if (delta === 0) throw new RangeError("input 2 (delta) is 0");
    const count = Math.max(0, stepsOf(inputs, (limit - start) / delta));
    const result = outputOf(type, [count]);
    const to: PlainArrays[PlainType] = result.data;
    if (isBig(to)) {
      const [first, step] = [inputs[0]?.data[0], inputs[2]?.data[0]].map((x) =>
        BigInt(x ?? 0)
      );
      for (let i = 0; i < count; i++) to[i] = first + BigInt(i) * step;
    } else {
      for (let i = 0; i < count; i++) to[i] = start + i * delta;
    }
    return [result];
  },
};

const EyeLike: PlainOperator = {
  since: [9, 22],
  types: ANY,
  run: (inputs, attributes) => {
    const x = input(inputs, 0, "input");
    checkRank(0, "input", x, 2, 2);
    const dtype = optionalInt(attributes, "dtype");
    const type = dtype === undefined ? x.type : typeOf("dtype", dtype);
    const k = int(attributes, "k", 0);
    const result = outputOf(type, x.dims);
    const to: PlainArrays[PlainType] = result.data;
    const [rows, columns] = x.dims;
    for (let row = 0; row < rows; row++) {
      const column = row + k;
      if (column < 0 || column >= columns) continue;
      to[row * columns + column] = isBig(to) ? 1n : 1;
    }
    return [result];
  },
};

/** Indices count from the back when they are negative; where one is out of range, nothing is on. */
const OneHot: PlainOperator = {
  since: [9, 11, 28],
  types: NUMBERS,
  run: (inputs, attributes) => {
    const indices = input(inputs, 0, "indices");
    const depth = Math.trunc(scalar(inputs, 1, "depth", NUMBERS));
    const values = input(inputs, 2, "values", ANY);
    if (values.data.length !== 2) {
      throw new RangeError(
        `input 2 (values) has ${values.data.length} elements, expected 2`,
      );
    }
    const rank = indices.dims.length + 1;
    const axis = axisOf(int(attributes, "axis", -1), rank);
    const dims = indices.dims.toSpliced(axis, 0, depth);
    const result = filled(values, dims);
    const behind = stridesOf(dims)[axis];
    const to = result.data as Float32Array;
    const on = (values.data as Float32Array)[1];
    indices.data.forEach((given: number | bigint, i: number) => {
      const index = Math.trunc(Number(given));
      const at = index < 0 ? index + depth : index;
      if (!(at >= 0 && at < depth)) return;
      to[(Math.floor(i / behind) * depth + at) * behind + i % behind] = on;
    });
    return [result];
  },
};

/** A window of cosines: the sum of coefficients times cos of multiples, alternating in sign. */
function cosines(...coefficients: number[]): PlainOperator {
  return {
    since: [17],
    types: ["int32", "int64"],
    run: (inputs, attributes) => {
      const size = scalar(inputs, 0, "size", ["int32", "int64"]);
      const type = typeOf(
        "output_datatype",
        int(attributes, "output_datatype", 1),
      );
      if (!(size >= 0 && size <= ELEMENTS_MAX)) checkOutput([size]);
      const last = int(attributes, "periodic", 1) === 0 ? size - 1 : size;
      const window = Array.from(
        { length: size },
        (_, i) =>
          coefficients.reduce(
            (sum, a, k) =>
              // A window of one element that is not periodic is its middle.
              sum + (k % 2 === 0 ? a : -a) *
                cos(2 * Math.PI * k * (last === 0 ? 0.5 : i / last)),
            0,
          ),
      );
      return [
        plainOf(
          type,
          [size],
          FLOATS.includes(type) ? window : window.map(Math.trunc),
        ),
      ];
    },
  };
}

export const GENERATORS: Readonly<Record<string, PlainOperator>> = {
  Constant,
  ConstantOfShape,
  Range,
  EyeLike,
  OneHot,
  HannWindow: cosines(0.5, 0.5),
  // ONNX takes 25/46 and the rest to 1.
  HammingWindow: cosines(25 / 46, 21 / 46),
  BlackmanWindow: cosines(0.42, 0.5, 0.08),
};
