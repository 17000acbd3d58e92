/**
 * What an LSTM, GRU or RNN does at a position, as operators of a cell: one step of one direction. Gates lie as in ONNX
 * (LSTM i, o, f, c; GRU z, r, h).
 */
import { describeShape } from "../../base/describe.ts";
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import {
  elementCount,
  isShape,
  type Tensor,
  tensor,
} from "../../tensor/tensor.ts";
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";

/** What a position hands on to the next; `c` of an LSTM alone. */
export interface StepState {
  readonly h: Value;
  readonly c?: Value;
}

/** A direction. */
export interface StepDirection {
  /** Whether it goes from the last position to the first. */
  readonly isReverse: boolean;
  /** One step: input of `width`, state of `hidden` elements. */
  step(op: Operators, x: Value, before: StepState): StepState;
}

/** A recurrent node of one request: the batch axis is 1. */
export interface Recurrence {
  readonly positions: number;
  /** Elements of a position's input. */
  readonly width: number;
  /** Elements of a state. */
  readonly hidden: number;
  /** What a state is made of. */
  readonly states: readonly ("h" | "c")[];
  readonly directions: readonly StepDirection[];
}

/** Weights of a direction, [gates h][x], [gates h][h] and [2 gates h]. */
interface Weights {
  readonly w: Tensor;
  readonly r: Tensor;
  readonly b?: Tensor;
}

interface Kind {
  readonly gates: number;
  readonly activations: readonly string[];
  readonly states: readonly ("h" | "c")[];
  /** The step, with weights put together once for all positions. */
  stepOf(node: OnnxNode, weights: Weights): StepDirection["step"];
}

const KINDS: Readonly<Record<string, Kind>> = {
  LSTM: {
    gates: 4,
    activations: ["Sigmoid", "Tanh", "Tanh"],
    states: ["h", "c"],
    stepOf: (_, weights) => (op, x, { h, c }) => op.LSTM(x, h, c!, weights),
  },
  GRU: {
    gates: 3,
    activations: ["Sigmoid", "Tanh"],
    states: ["h"],
    stepOf: (node, weights) =>
      attributeOf(node, "linear_before_reset", "int") === 1
        ? (op, x, { h }) => ({ h: op.GRU(x, h, weights) })
        : resetBeforeProduct(weights),
  },
  RNN: {
    gates: 1,
    activations: ["Tanh"],
    states: ["h"],
    stepOf: (_, weights) => {
      const sum = sumOf(weights, 0, weights.w.shape[0]);
      return (op, x, { h }) => ({ h: op.Tanh(sum(op, x, h)) });
    },
  },
};

/**
 * @returns what a node does at every position; undefined when operators of cells do not compute it: weights that are
 * not constant, batches, lengths by value, peepholes, other activations, clipping
 * @throws RangeError naming the input whose sizes do not fit
 */
export function floatRecurrenceOf(
  node: OnnxNode,
  known: (name: string) => KnownValue,
): Recurrence | undefined {
  const kind = node.domain === "" && Object.hasOwn(KINDS, node.op)
    ? KINDS[node.op]
    : undefined;
  if (kind === undefined) return undefined;
  const x = known(node.inputs[0]);
  if (!isUsual(node, kind.activations, x)) return undefined;
  const way = attributeOf(node, "direction", "string") ?? "forward";
  checkSizes(node, kind, way === "bidirectional" ? 2 : 1, known);
  const weights = weightsOf(node, known);
  if (weights === undefined) return undefined;
  return {
    positions: x.dims[0],
    width: x.dims[2],
    hidden: known(node.inputs[2]).dims[2],
    states: kind.states,
    directions: weights.map((each, i) => ({
      isReverse: way === "reverse" || i === 1,
      step: kind.stepOf(node, each),
    })),
  };
}

/** Whether a layer takes one sequence x, whole, and does nothing that steps do not. */
export function isUsual(
  node: OnnxNode,
  activations: readonly string[],
  x: KnownValue,
): boolean {
  const has = (i: number) => (node.inputs[i] ?? "") !== "";
  const int = (name: string) => attributeOf(node, name, "int") ?? 0;
  const names = attributeOf(node, "activations", "strings");
  return int("layout") === 0 && x.dims.length === 3 && x.dims[1] === 1 &&
    x.dims[0] > 0 && x.type === "float32" && !has(4) && !has(7) &&
    int("input_forget") === 0 && !node.attributes.has("clip") &&
    (names?.every((name, i) => name === activations[i % activations.length]) ??
      true);
}

function checkSizes(
  { op, inputs }: OnnxNode,
  { states, gates }: Kind,
  directions: number,
  known: (name: string) => KnownValue,
): void {
  const hidden = known(inputs[2]).dims[2] ?? 0;
  const state = [directions, 1, hidden];
  const wanted: readonly (readonly [number, readonly number[]])[] = [
    [1, [directions, gates * hidden, known(inputs[0]).dims[2]]],
    [2, [directions, gates * hidden, hidden]],
    [3, [directions, 2 * gates * hidden]],
    ...states.map((_, i) => [5 + i, state] as const),
  ];
  for (const [place, shape] of wanted) {
    const name = inputs[place] ?? "";
    if (name === "") continue;
    const { dims } = known(name);
    if (isShape(dims, shape) && elementCount(shape) > 0) continue;
    throw new RangeError(
      `input ${place} of ${op} is ${describeShape(dims)}, expected ${
        describeShape(shape)
      }`,
    );
  }
}

/** By direction; undefined unless all are constants, of finite floats. */
function weightsOf(
  { inputs }: OnnxNode,
  known: (name: string) => KnownValue,
): Weights[] | undefined {
  const given = [1, 2, 3].map((i) => inputs[i] ?? "").filter((name, i) =>
    i < 2 || name !== ""
  ).map((name) => known(name).constant);
  const parts: Tensor[][] = [];
  for (const constant of given) {
    if (!constant || !(constant.data instanceof Float32Array)) return undefined;
    const { dims: [directions, ...shape], data } = constant;
    if (!data.every((value) => Number.isFinite(value))) return undefined;
    const size = data.length / directions;
    parts.push(Array.from(
      { length: directions },
      (_, i) => tensor(shape, data.subarray(i * size, (i + 1) * size)),
    ));
  }
  const [w, r, b] = parts;
  return w.map((each, i) => ({ w: each, r: r[i], ...(b && { b: b[i] }) }));
}

/** Products of gates `from` to `to` with the input and with the state, and both biases. */
function sumOf(
  { w, r, b }: Weights,
  from: number,
  to: number,
): (op: Operators, x: Value, h: Value) => Value {
  const [rows, wide] = w.shape;
  const deep = r.shape[1];
  const weight = new Float32Array((to - from) * (wide + deep));
  for (let row = from; row < to; row++) {
    const at = (row - from) * (wide + deep);
    weight.set(w.data.subarray(row * wide, (row + 1) * wide), at);
    weight.set(r.data.subarray(row * deep, (row + 1) * deep), at + wide);
  }
  const bias = b && tensor(
    [to - from],
    Float32Array.from(
      { length: to - from },
      (_, i) => b.data[from + i] + b.data[rows + from + i],
    ),
  );
  const matrix = tensor([to - from, wide + deep], weight);
  return (op, x, h) => op.Gemm(op.Concat(x, h), matrix, bias);
}

/** GRU with linear_before_reset = 0: the state is reset before it meets its weights. */
function resetBeforeProduct(weights: Weights): StepDirection["step"] {
  const hidden = weights.r.shape[1];
  const gates = sumOf(weights, 0, 2 * hidden);
  const candidate = sumOf(weights, 2 * hidden, 3 * hidden);
  return (op, x, { h }) => {
    const opened = op.Sigmoid(gates(op, x, h));
    const z = op.Slice(opened, 0, hidden);
    const r = op.Slice(opened, hidden, 2 * hidden);
    const made = op.Tanh(candidate(op, x, op.Mul(r, h)));
    return { h: op.Add(made, op.Mul(z, op.Sub(h, made))) };
  };
}
