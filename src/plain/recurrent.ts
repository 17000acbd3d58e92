/**
 * LSTM, GRU and RNN. A sum of a gate takes the products with the input first, then those with the state, then the
 * biases, in f64; states are rounded to f32 from step to step. Functions of a gate are computed in f64.
 */
import { expm1 } from "../base/elementary/exponential.ts";
import { tanh } from "../base/elementary/hyperbolic.ts";
import { describeShape } from "../base/describe.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { sigmoid, softplus } from "./functions.ts";
import {
  checkDims,
  checkRank,
  choice,
  flag,
  floatList,
  FLOATS,
  floats,
  optionalFloat,
  optionalFloats,
  optionalInt,
  optionalWhole,
  type PlainInputs,
  texts,
} from "./given.ts";
import { outputOf, permuted } from "./layout.ts";
import type { PlainAttributes, PlainOperator } from "./operator.ts";

type Scalar = (x: number) => number;

/** Functions by name in lower case, with defaults of alpha and beta where they take them. */
const ACTIVATIONS: Readonly<
  Record<
    string,
    { alpha?: number; beta?: number; f: (a: number, b: number) => Scalar }
  >
> = {
  relu: { f: () => (x) => x < 0 ? 0 : x },
  tanh: { f: () => tanh },
  sigmoid: { f: () => sigmoid },
  softsign: { f: () => (x) => x / (1 + Math.abs(x)) },
  softplus: { f: () => softplus },
  affine: { alpha: 1, beta: 0, f: (a, b) => (x) => a * x + b },
  leakyrelu: { alpha: 0.01, f: (a) => (x) => x < 0 ? a * x : x },
  thresholdedrelu: { alpha: 1, f: (a) => (x) => x < a ? 0 : x },
  scaledtanh: { alpha: 1, beta: 1, f: (a, b) => (x) => a * tanh(b * x) },
  hardsigmoid: {
    alpha: 0.2,
    beta: 0.5,
    f: (a, b) => (x) => Math.max(0, Math.min(1, a * x + b)),
  },
  elu: { alpha: 1, f: (a) => (x) => x < 0 ? a * expm1(x) : x },
};

/**
 * Functions of all directions, clipped as the attributes say. The lists of alphas and betas are used up in the
 * order of the functions that take one.
 */
function activationsOf(
  attributes: PlainAttributes,
  defaults: readonly string[],
  directions: number,
): Scalar[] {
  const names = texts(attributes, "activations") ??
    new Array(directions).fill(defaults).flat();
  if (names.length !== defaults.length * directions) {
    throw new RangeError(
      `attribute activations has ${names.length} names, expected ${
        defaults.length * directions
      }`,
    );
  }
  const alphas = [...floatList(attributes, "activation_alpha") ?? []];
  const betas = [...floatList(attributes, "activation_beta") ?? []];
  const most = optionalFloat(attributes, "clip") ?? Infinity;
  return names.map((name) => {
    const key = name.toLowerCase();
    if (!Object.hasOwn(ACTIVATIONS, key)) {
      throw new RangeError(
        `attribute activations has ${name}, which is none of ${
          Object.keys(ACTIVATIONS).join(", ")
        }`,
      );
    }
    const { alpha, beta, f } = ACTIVATIONS[key];
    const a = alpha === undefined ? 0 : alphas.shift() ?? Math.fround(alpha);
    const b = beta === undefined ? 0 : betas.shift() ?? Math.fround(beta);
    const of = f(a, b);
    return most === Infinity
      ? of
      : (x) => of(Math.max(-most, Math.min(most, x)));
  });
}

/** What a step of one sequence has to work with; matrices are [gates hidden][columns]. */
interface Step {
  readonly hidden: number;
  /** Gates before functions: products with the input and its biases. */
  readonly fromInput: Float64Array;
  /** Products with the state, without biases. */
  readonly fromState: Float64Array;
  /** Biases of the state's products. */
  readonly stateBias: Float64Array;
  /** Hidden state; read, and replaced by the step. */
  readonly h: Float32Array;
  /** Cell state of an LSTM; replaced by the step. */
  readonly c: Float32Array;
  /** Peepholes of an LSTM, of the input, output and forget gate. */
  readonly peepholes?: Float32Array;
  /** The state's matrix times a vector, for one gate. */
  readonly product: (gate: number, vector: ArrayLike<number>) => Float64Array;
}

/** A kind of recurrent layer. */
interface Recurrence {
  readonly gates: number;
  readonly activations: readonly string[];
  readonly step: (
    step: Step,
    activations: readonly Scalar[],
    attributes: PlainAttributes,
  ) => void;
}

/** A row's products with a vector, first to last, onto what is there. */
function addProducts(
  sums: Float64Array,
  matrix: Float32Array,
  first: number,
  vector: ArrayLike<number>,
): void {
  const columns = vector.length;
  for (let row = 0; row < sums.length; row++) {
    const from = first + row * columns;
    let sum = sums[row];
    for (let i = 0; i < columns; i++) sum += matrix[from + i] * vector[i];
    sums[row] = sum;
  }
}

/** Inputs with batch first or not, as [steps or directions][batch][...]. */
function timeFirst<P extends PlainTensor | undefined>(
  given: P,
  isBatchFirst: boolean,
): P {
  return given && isBatchFirst ? permuted(given, [1, 0, 2]) as P : given;
}

function run(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  recurrence: Recurrence,
): { y: PlainTensor; h: PlainTensor; c: PlainTensor } {
  const { gates, step } = recurrence;
  const direction = choice(attributes, "direction", [
    "forward",
    "reverse",
    "bidirectional",
  ]);
  const isBatchFirst = flag(attributes, "layout");
  const given = floats(inputs, 0, "X");
  const w = floats(inputs, 1, "W");
  const r = floats(inputs, 2, "R");
  const bias = optionalFloats(inputs, 3, "B");
  const lengths = optionalWhole(inputs, 4, "sequence_lens");
  checkRank(0, "X", given, 3, 3);
  checkRank(2, "R", r, 3, 3);
  const x = timeFirst(given, isBatchFirst);
  const h0 = timeFirst(optionalFloats(inputs, 5, "initial_h"), isBatchFirst);
  const c0 = timeFirst(optionalFloats(inputs, 6, "initial_c"), isBatchFirst);
  const peepholes = optionalFloats(inputs, 7, "P");
  const directions = direction === "bidirectional" ? 2 : 1;
  const [steps, batch, features] = x.dims;
  const hidden = r.dims[2];
  const declared = optionalInt(attributes, "hidden_size");
  if (declared !== undefined && declared !== hidden) {
    throw new RangeError(
      `attribute hidden_size is ${declared}, input 2 (R) has ${
        describeShape(r.dims)
      }`,
    );
  }
  const rows = gates * hidden;
  const state = [directions, batch, hidden];
  checkDims(1, "W", w, [directions, rows, features]);
  checkDims(2, "R", r, [directions, rows, hidden]);
  if (bias) checkDims(3, "B", bias, [directions, 2 * rows]);
  if (h0) checkDims(5, "initial_h", h0, state);
  if (c0) checkDims(6, "initial_c", c0, state);
  if (peepholes) checkDims(7, "P", peepholes, [directions, 3 * hidden]);
  if (
    lengths &&
    !(lengths.length === batch &&
      lengths.every((length) => length >= 0 && length <= steps))
  ) {
    throw new RangeError(
      `input 4 (sequence_lens) is ${
        describeShape(lengths)
      }, expected ${batch} numbers to ${steps}`,
    );
  }
  const activations = activationsOf(
    attributes,
    recurrence.activations,
    directions,
  );
  const y = outputOf("float32", [steps, directions, batch, hidden]);
  const h = outputOf("float32", state);
  const c = outputOf("float32", state);
  if (h0) h.data.set(h0.data);
  if (c0) c.data.set(c0.data);
  for (let d = 0; d < directions; d++) {
    const isReversed = direction === "reverse" || d === 1;
    const own = activations.slice(
      d * recurrence.activations.length,
      (d + 1) * recurrence.activations.length,
    );
    const inputBias = Float64Array.from(
      { length: rows },
      (_, i) => bias ? bias.data[2 * d * rows + i] : 0,
    );
    const stateBias = Float64Array.from(
      { length: rows },
      (_, i) => bias ? bias.data[(2 * d + 1) * rows + i] : 0,
    );
    for (let b = 0; b < batch; b++) {
      const at = (d * batch + b) * hidden;
      const [hNow, cNow] = [h, c].map(({ data }) =>
        data.subarray(at, at + hidden)
      );
      const length = lengths?.[b] ?? steps;
      for (let s = 0; s < length; s++) {
        const t = isReversed ? length - 1 - s : s;
        const from = (t * batch + b) * features;
        const fromInput = new Float64Array(rows);
        addProducts(
          fromInput,
          w.data,
          d * rows * features,
          x.data.subarray(from, from + features),
        );
        for (let i = 0; i < rows; i++) fromInput[i] += inputBias[i];
        const product = (gate: number, vector: ArrayLike<number>) => {
          const sums = new Float64Array(hidden);
          const first = (d * rows + gate * hidden) * hidden;
          addProducts(sums, r.data, first, vector);
          return sums;
        };
        const fromState = new Float64Array(rows);
        addProducts(fromState, r.data, d * rows * hidden, hNow);
        step(
          {
            hidden,
            fromInput,
            fromState,
            stateBias,
            h: hNow,
            c: cNow,
            peepholes: peepholes?.data.subarray(
              3 * d * hidden,
              3 * (d + 1) * hidden,
            ),
            product,
          },
          own,
          attributes,
        );
        y.data.set(hNow, ((t * directions + d) * batch + b) * hidden);
      }
    }
  }
  return isBatchFirst
    ? {
      y: permuted(y, [2, 0, 1, 3]),
      h: permuted(h, [1, 0, 2]),
      c: permuted(c, [1, 0, 2]),
    }
    : { y, h, c };
}

/** Gates: input, output, forget, cell. */
const LSTM: Recurrence = {
  gates: 4,
  activations: ["Sigmoid", "Tanh", "Tanh"],
  step: (
    { hidden, fromInput, fromState, stateBias, h, c, peepholes },
    [f, g, last],
    attributes,
  ) => {
    const isCoupled = flag(attributes, "input_forget");
    const peep = (gate: number, i: number) =>
      peepholes?.[gate * hidden + i] ?? 0;
    const sum = (gate: number, i: number) => {
      const at = gate * hidden + i;
      return fromInput[at] + fromState[at] + stateBias[at];
    };
    for (let i = 0; i < hidden; i++) {
      const before = c[i];
      const input = f(sum(0, i) + peep(0, i) * before);
      const forget = isCoupled ? 1 - input : f(sum(2, i) + peep(2, i) * before);
      c[i] = forget * before + input * g(sum(3, i));
      h[i] = f(sum(1, i) + peep(1, i) * c[i]) * last(c[i]);
    }
  },
};

/** Gates: update, reset, hidden. */
const GRU: Recurrence = {
  gates: 3,
  activations: ["Sigmoid", "Tanh"],
  step: (
    { hidden, fromInput, fromState, stateBias, h, product },
    [f, g],
    attributes,
  ) => {
    const isLinear = flag(attributes, "linear_before_reset");
    const gate = (at: number) =>
      f(fromInput[at] + fromState[at] + stateBias[at]);
    const update = new Float64Array(hidden);
    const reset = new Float64Array(hidden);
    for (let i = 0; i < hidden; i++) {
      update[i] = gate(i);
      reset[i] = gate(hidden + i);
    }
    const kept = isLinear
      ? undefined
      : product(2, reset.map((x, i) => x * h[i]));
    for (let i = 0; i < hidden; i++) {
      const at = 2 * hidden + i;
      const candidate = g(
        fromInput[at] +
          (kept
            ? kept[i] + stateBias[at]
            : reset[i] * (fromState[at] + stateBias[at])),
      );
      h[i] = (1 - update[i]) * candidate + update[i] * h[i];
    }
  },
};

const RNN: Recurrence = {
  gates: 1,
  activations: ["Tanh"],
  step: ({ hidden, fromInput, fromState, stateBias, h }, [f]) => {
    for (let i = 0; i < hidden; i++) {
      h[i] = f(fromInput[i] + fromState[i] + stateBias[i]);
    }
  },
};

function operator(recurrence: Recurrence, hasCell: boolean): PlainOperator {
  return {
    since: [7, 14, 22],
    types: FLOATS,
    run: (inputs, attributes) => {
      const { y, h, c } = run(inputs, attributes, recurrence);
      return hasCell ? [y, h, c] : [y, h];
    },
  };
}

export const RECURRENT: Readonly<Record<string, PlainOperator>> = {
  LSTM: operator(LSTM, true),
  GRU: operator(GRU, false),
  RNN: operator(RNN, false),
};
