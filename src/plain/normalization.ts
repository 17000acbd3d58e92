/**
 * Normalisations. Means and variances in f64, first the mean, then squares of what differs from it, elements in
 * row-major order; results are rounded once.
 */
import { power } from "../base/elementary/power.ts";
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import {
  checkDims,
  checkRank,
  flag,
  float,
  FLOATS,
  floats,
  int,
  ints,
  optionalFloats,
  requiredInt,
} from "./given.ts";
import {
  axesOf,
  axisOf,
  broadcastPositions,
  lanesOf,
  outputOf,
  upTo,
} from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

type Floats = PlainTensor<"float32">;

/** Mean and variance of a lane. */
function moments(
  data: Float32Array,
  start: number,
  steps: Int32Array,
): { mean: number; variance: number } {
  let sum = 0;
  for (const step of steps) sum += data[start + step];
  const mean = sum / steps.length;
  let squares = 0;
  for (const step of steps) squares += (data[start + step] - mean) ** 2;
  return { mean, variance: squares / steps.length };
}

/** A number for each channel of dims [N, C, ...], by the position of an element. */
function channelOf(dims: readonly number[]): (at: number) => number {
  const behind = elementCount(dims.slice(2));
  return (at) => Math.floor(at / behind) % dims[1];
}

/**
 * Statistics are those that were learned, or with `training_mode` of what is given, as exporters write a weight that is
 * standardised; the statistics that follow are results then.
 */
const BatchNormalization: PlainOperator = {
  since: [1, 6, 7, 9, 14, 15],
  types: FLOATS,
  limits: "training_mode from 14 on",
  run: (inputs, attributes, { opset }) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 2);
    if (opset < 7 && !flag(attributes, "is_test")) {
      throw new RangeError("training is not supported before version 14");
    }
    const isOwn = opset >= 14 && flag(attributes, "training_mode");
    const epsilon = float(attributes, "epsilon", 1e-5);
    const isSpatial = opset >= 9 || flag(attributes, "spatial", true);
    const one = isSpatial ? [x.dims[1]] : x.dims.slice(1);
    const [scale, bias, mean, variance] = ["scale", "B", "mean", "var"].map(
      (name, i) => {
        const given = floats(inputs, i + 1, name);
        checkDims(i + 1, name, given, one);
        return given.data;
      },
    );
    const channel = channelOf(x.dims);
    const features = elementCount(one);
    const of = isSpatial ? channel : (at: number) => at % features;
    const own = isOwn ? channelMoments(x, features, of) : undefined;
    const result = outputOf("float32", x.dims);
    for (let i = 0; i < result.data.length; i++) {
      const c = of(i);
      const [middle, spread] = own
        ? [own.means[c], own.variances[c]]
        : [mean[c], variance[c]];
      result.data[i] = (x.data[i] - middle) / Math.sqrt(spread + epsilon) *
          scale[c] + bias[c];
    }
    if (own === undefined) return [result];
    const momentum = float(attributes, "momentum", 0.9);
    const moved = (before: Float32Array, now: Float64Array): Floats => {
      const next = outputOf("float32", one);
      next.data.set(
        now.map((value, c) => before[c] * momentum + value * (1 - momentum)),
      );
      return next;
    };
    return [result, moved(mean, own.means), moved(variance, own.variances)];
  },
};

/** Mean and variance of every channel of all that is given. */
function channelMoments(
  { data }: Floats,
  channels: number,
  of: (at: number) => number,
): { means: Float64Array; variances: Float64Array } {
  const count = data.length / channels;
  const means = new Float64Array(channels);
  data.forEach((value, i) => means[of(i)] += value / count);
  const variances = new Float64Array(channels);
  data.forEach((value, i) =>
    variances[of(i)] += (value - means[of(i)]) ** 2 / count
  );
  return { means, variances };
}

const InstanceNormalization: PlainOperator = {
  since: [1, 6, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "input");
    checkRank(0, "input", x, 3);
    const scale = floats(inputs, 1, "scale");
    const bias = floats(inputs, 2, "B");
    checkDims(1, "scale", scale, [x.dims[1]]);
    checkDims(2, "B", bias, [x.dims[1]]);
    const epsilon = float(attributes, "epsilon", 1e-5);
    return [
      normalizedGroups(
        x,
        x.dims[1],
        epsilon,
        (c) => scale.data[c],
        (c) => bias.data[c],
      ),
    ];
  },
};

/** Every group of channels of every image normalised, then scaled and shifted by channel. */
function normalizedGroups(
  x: Floats,
  groups: number,
  epsilon: number,
  scale: (channel: number) => number,
  bias: (channel: number) => number,
): Floats {
  const [batch, channels] = x.dims;
  if (!(groups >= 1) || channels % groups !== 0) {
    throw new RangeError(`${channels} channels in ${groups} groups`);
  }
  const result = outputOf("float32", x.dims);
  const size = channels / groups * elementCount(x.dims.slice(2));
  const steps = Int32Array.from({ length: size }, (_, i) => i);
  const channel = channelOf(x.dims);
  for (let group = 0; group < batch * groups; group++) {
    const { mean, variance } = moments(x.data, group * size, steps);
    const deviation = Math.sqrt(variance + epsilon);
    for (let i = group * size; i < (group + 1) * size; i++) {
      const c = channel(i);
      result.data[i] = (x.data[i] - mean) / deviation * scale(c) + bias(c);
    }
  }
  return result;
}

/** Scale and bias are one for each group before version 21 of the operator set, for each channel from then on. */
const GroupNormalization: PlainOperator = {
  since: [18, 21],
  types: FLOATS,
  run: (inputs, attributes, { opset }) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 3);
    const groups = requiredInt(attributes, "num_groups");
    const count = opset < 21 ? groups : x.dims[1];
    const scale = floats(inputs, 1, "scale");
    const bias = floats(inputs, 2, "bias");
    checkDims(1, "scale", scale, [count]);
    checkDims(2, "bias", bias, [count]);
    const of = (c: number) => Math.floor(c * count / x.dims[1]);
    return [
      normalizedGroups(
        x,
        groups,
        float(attributes, "epsilon", 1e-5),
        (c) => scale.data[of(c)],
        (c) => bias.data[of(c)],
      ),
    ];
  },
};

const LayerNormalization: PlainOperator = {
  since: [17],
  types: FLOATS,
  run: (inputs, attributes, { outputs }) => {
    const x = floats(inputs, 0, "X");
    const rank = x.dims.length;
    const axis = axisOf(int(attributes, "axis", -1), rank);
    const scale = floats(inputs, 1, "Scale");
    const bias = optionalFloats(inputs, 2, "B");
    const epsilon = float(attributes, "epsilon", 1e-5);
    const { starts, steps, ones } = lanesOf(x.dims, upTo(rank).slice(axis));
    const scaleAt = broadcastPositions(scale.dims, x.dims);
    const biasAt = bias && broadcastPositions(bias.dims, x.dims);
    const result = outputOf("float32", x.dims);
    const means = outputOf("float32", ones);
    const inverses = outputOf("float32", ones);
    starts.forEach((start, l) => {
      const { mean, variance } = moments(x.data, start, steps);
      const inverse = 1 / Math.sqrt(variance + epsilon);
      means.data[l] = mean;
      inverses.data[l] = inverse;
      for (const step of steps) {
        const i = start + step;
        result.data[i] = (x.data[i] - mean) * inverse * scale.data[scaleAt[i]] +
          (biasAt ? bias.data[biasAt[i]] : 0);
      }
    });
    return [result, means, inverses].slice(0, Math.max(1, outputs));
  },
};

const RMSNormalization: PlainOperator = {
  since: [23],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    const rank = x.dims.length;
    const axis = axisOf(int(attributes, "axis", -1), rank);
    const scale = floats(inputs, 1, "scale");
    const epsilon = float(attributes, "epsilon", 1e-5);
    const { starts, steps } = lanesOf(x.dims, upTo(rank).slice(axis));
    const scaleAt = broadcastPositions(scale.dims, x.dims);
    const result = outputOf("float32", x.dims);
    for (const start of starts) {
      let squares = 0;
      for (const step of steps) squares += x.data[start + step] ** 2;
      const rms = Math.sqrt(squares / steps.length + epsilon);
      for (const step of steps) {
        const i = start + step;
        result.data[i] = x.data[i] / rms * scale.data[scaleAt[i]];
      }
    }
    return [result];
  },
};

/** What is added to the deviation by the operator's definition as a function. */
const DEVIATION_EPSILON = 1e-9;

const MeanVarianceNormalization: PlainOperator = {
  since: [9, 13],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    const axes = axesOf(ints(attributes, "axes") ?? [0, 2, 3], x.dims.length);
    const { starts, steps } = lanesOf(x.dims, axes);
    const result = outputOf("float32", x.dims);
    for (const start of starts) {
      const { mean, variance } = moments(x.data, start, steps);
      const deviation = Math.sqrt(variance) + DEVIATION_EPSILON;
      for (const step of steps) {
        result.data[start + step] = (x.data[start + step] - mean) / deviation;
      }
    }
    return [result];
  },
};

/** Lanes over their norm; a lane of zeros stays one. */
const LpNormalization: PlainOperator = {
  since: [1, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "input");
    const axis = axisOf(int(attributes, "axis", -1), x.dims.length);
    const p = int(attributes, "p", 2);
    if (p !== 1 && p !== 2) {
      throw new RangeError(`attribute p is ${p}, expected 1 or 2`);
    }
    const { starts, steps } = lanesOf(x.dims, [axis]);
    const result = outputOf("float32", x.dims);
    for (const start of starts) {
      let sum = 0;
      for (const step of steps) sum += power(Math.abs(x.data[start + step]), p);
      const norm = p === 1 ? sum : Math.sqrt(sum);
      for (const step of steps) {
        result.data[start + step] = norm === 0
          ? 0
          : x.data[start + step] / norm;
      }
    }
    return [result];
  },
};

/** Local response: elements over a power of the squares of the channels around. */
const LRN: PlainOperator = {
  since: [1, 13],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 2);
    const size = requiredInt(attributes, "size");
    if (!(size >= 1)) {
      throw new RangeError(`attribute size is ${describeShape([size])}`);
    }
    const alpha = float(attributes, "alpha", 1e-4);
    const beta = float(attributes, "beta", 0.75);
    const bias = float(attributes, "bias", 1);
    const { starts, steps } = lanesOf(x.dims, [1]);
    const before = Math.floor((size - 1) / 2);
    const result = outputOf("float32", x.dims);
    for (const start of starts) {
      steps.forEach((step, c) => {
        let squares = 0;
        const last = Math.min(steps.length, c - before + size);
        for (let i = Math.max(0, c - before); i < last; i++) {
          squares += power(x.data[start + steps[i]], 2);
        }
        result.data[start + step] = x.data[start + step] /
          power(bias + alpha / size * squares, beta);
      });
    }
    return [result];
  },
};

export const NORMALIZATIONS: Readonly<Record<string, PlainOperator>> = {
  BatchNormalization,
  InstanceNormalization,
  GroupNormalization,
  LayerNormalization,
  RMSNormalization,
  MeanVarianceNormalization,
  LpNormalization,
  LRN,
};
