/** Pooling over any number of spatial axes; sums in f64 in row-major order of the window, rounded once. */
import { power } from "../base/elementary/power.ts";
import { elementCount } from "../tensor/tensor.ts";
import {
  isBig,
  type PlainArrays,
  type PlainTensor,
  type PlainType,
} from "../tensor/plain_tensor.ts";
import {
  BYTES,
  checkDims,
  checkRank,
  flag,
  FLOATS,
  floats,
  input,
  int,
  ints,
  optionalWhole,
} from "./given.ts";
import {
  checkOutput,
  lanesOf,
  mappedPositions,
  outputOf,
  stridesOf,
  take,
  upTo,
} from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";
import { perAxis, tapsOf, type Windows, windowsOf } from "./windows.ts";

/** Windows over the spatial axes of an input [N, C, spatial...]. */
function poolWindows(x: PlainTensor, attributes: PlainAttributes): Windows {
  checkRank(0, "X", x, 3);
  const kernel = ints(attributes, "kernel_shape");
  if (!kernel) throw new TypeError("attribute kernel_shape is missing");
  const isCeil = flag(attributes, "ceil_mode");
  return windowsOf(attributes, x.dims.slice(2), kernel, isCeil);
}

/** For each window the number of its elements that lie in the input or its padding. */
function padded(windows: Windows): Int32Array {
  const { spatial, kernel, strides, dilations, before, after, out } = windows;
  const inside = { ...windows, before: before.map(() => 0) };
  // The same windows over an input that includes its padding.
  const taps = tapsOf({
    ...inside,
    spatial: spatial.map((size, axis) => size + before[axis] + after[axis]),
    kernel,
    strides,
    dilations,
  });
  const counts = new Int32Array(elementCount(out));
  for (const tap of taps) {
    for (let i = 0; i < counts.length; i++) counts[i] += Number(tap[i] >= 0);
  }
  return counts;
}

/** Sums over windows of what `of` makes of each element, then `end` of sum and count. */
function pooled(
  x: PlainTensor<"float32">,
  windows: Windows,
  of: (x: number) => number,
  end: (sum: number, count: number) => number,
  includesPads = false,
): PlainTensor {
  const taps = tapsOf(windows);
  const result = outputOf("float32", [
    ...x.dims.slice(0, 2),
    ...windows.out,
  ]);
  const maps = elementCount(x.dims.slice(0, 2));
  const pixels = elementCount(windows.spatial);
  const outPixels = elementCount(windows.out);
  const counts = includesPads ? padded(windows) : undefined;
  for (let map = 0; map < maps; map++) {
    for (let i = 0; i < outPixels; i++) {
      let sum = 0;
      let count = 0;
      for (const tap of taps) {
        if (tap[i] < 0) continue;
        sum += of(x.data[map * pixels + tap[i]]);
        count++;
      }
      result.data[map * outPixels + i] = end(sum, counts?.[i] ?? count);
    }
  }
  return result;
}

const AveragePool: PlainOperator = {
  since: [1, 7, 10, 11, 19, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    return [
      pooled(
        x,
        poolWindows(x, attributes),
        (element) => element,
        (sum, count) => sum / count,
        flag(attributes, "count_include_pad"),
      ),
    ];
  },
};

/** Padding is 0 and adds nothing. */
const LpPool: PlainOperator = {
  since: [2, 11, 18, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    const p = int(attributes, "p", 2);
    return [
      pooled(
        x,
        poolWindows(x, attributes),
        (element) => power(Math.abs(element), p),
        (sum) => power(sum, 1 / p),
      ),
    ];
  },
};

/** Position of an element [n, c, spatial...] when an image's columns lie one behind the other. */
function columnMajor(at: number, dims: readonly number[]): number {
  const [, , ...spatial] = dims;
  const pixels = elementCount(spatial);
  const strides = stridesOf(spatial);
  const reversed = stridesOf([...spatial].reverse()).reverse();
  const within = at % pixels;
  return at - within + spatial.reduce(
    (sum, size, axis) =>
      sum + Math.floor(within / strides[axis]) % size * reversed[axis],
    0,
  );
}

/** What a window of padding only has for its largest element, as ONNX Runtime has it of bytes. */
function leastOf(type: PlainType): number {
  return type === "int8" ? -128 : type === "uint8" ? 0 : -Infinity;
}

/** The largest element of each window, the first of equals, and where it lies in the whole input. */
const MaxPool: PlainOperator = {
  since: [1, 8, 10, 11, 12, 22],
  types: [...FLOATS, ...BYTES],
  run: (inputs, attributes, { outputs }) => {
    const x = input(inputs, 0, "X");
    const windows = poolWindows(x, attributes);
    const isColumnMajor = flag(attributes, "storage_order");
    const taps = tapsOf(windows);
    const dims = [...x.dims.slice(0, 2), ...windows.out];
    const result = outputOf(x.type, dims);
    const indices = outputOf("int64", dims);
    const from: PlainArrays[PlainType] = x.data;
    const to: PlainArrays[PlainType] = result.data;
    if (isBig(from) || isBig(to)) throw new TypeError("no bigints are pooled");
    const maps = elementCount(x.dims.slice(0, 2));
    const pixels = elementCount(windows.spatial);
    const outPixels = elementCount(windows.out);
    for (let map = 0; map < maps; map++) {
      for (let i = 0; i < outPixels; i++) {
        let best = -1;
        for (const tap of taps) {
          const at = map * pixels + tap[i];
          if (tap[i] < 0) continue;
          // Nothing is larger than a NaN, which a window keeps, wherever it lies.
          const isLargest = best < 0 || from[at] > from[best] ||
            Number.isNaN(from[at]) && !Number.isNaN(from[best]);
          if (isLargest) best = at;
        }
        to[map * outPixels + i] = best < 0 ? leastOf(x.type) : from[best];
        indices.data[map * outPixels + i] = BigInt(
          isColumnMajor && best >= 0 ? columnMajor(best, x.dims) : best,
        );
      }
    }
    return outputs < 2 ? [result] : [result, indices];
  },
};

/** Elements back where a maximum was taken, the rest 0. */
const MaxUnpool: PlainOperator = {
  since: [9, 11, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 3);
    const indices = input(inputs, 1, "I", ["int64"]);
    checkDims(1, "I", indices, x.dims);
    const [batch, channels, ...spatial] = x.dims;
    const rank = spatial.length;
    const kernel = perAxis(attributes, "kernel_shape", rank, 1, 1);
    const strides = perAxis(attributes, "strides", rank, 1, 1);
    const pads = perAxis(attributes, "pads", 2 * rank, 0, 0);
    const dims = [
      batch,
      channels,
      ...spatial.map((size, axis) =>
        (size - 1) * strides[axis] + kernel[axis] - pads[axis] -
        pads[axis + rank]
      ),
    ];
    const wanted = optionalWhole(inputs, 2, "output_shape") ?? dims;
    const small = outputOf("float32", dims);
    indices.data.forEach((index: number | bigint, i: number) => {
      const at = Number(index);
      if (!(at >= 0 && at < small.data.length)) {
        throw new RangeError(`input 1 (I) has index ${at}`);
      }
      small.data[at] = x.data[i];
    });
    // A larger result has what is there at its beginning.
    const maps = wanted.map((size, axis) => {
      checkOutput([size]);
      return upTo(size).map((i) => i < dims[axis] ? i : -1);
    });
    return [take(small, mappedPositions(maps, stridesOf(dims)), wanted)];
  },
};

/** One number of all spatial elements. */
function global(
  since: readonly number[],
  f: (lane: Float64Array, attributes: PlainAttributes) => number,
): PlainOperator {
  return {
    since,
    types: FLOATS,
    run: (inputs, attributes) => {
      const x = floats(inputs, 0, "X");
      checkRank(0, "X", x, 2);
      const { starts, steps, ones } = lanesOf(
        x.dims,
        upTo(x.dims.length).slice(2),
      );
      const result = outputOf("float32", ones);
      const lane = new Float64Array(steps.length);
      starts.forEach((start, l) => {
        steps.forEach((step, i) => lane[i] = x.data[start + step]);
        result.data[l] = f(lane, attributes);
      });
      return [result];
    },
  };
}

export const POOLINGS: Readonly<Record<string, PlainOperator>> = {
  AveragePool,
  LpPool,
  MaxPool,
  MaxUnpool,
  GlobalAveragePool: global(
    [1, 22],
    (lane) => lane.reduce((a, b) => a + b, 0) / lane.length,
  ),
  GlobalMaxPool: global(
    [1, 22],
    (lane) => lane.reduce((a, b) => Math.max(a, b), -Infinity),
  ),
  GlobalLpPool: global([2, 22], (lane, attributes) => {
    const p = int(attributes, "p", 2);
    return power(
      lane.reduce((a, b) => a + power(Math.abs(b), p), 0),
      1 / p,
    );
  }),
};
