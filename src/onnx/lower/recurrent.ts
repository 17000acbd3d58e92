/**
 * LSTM, GRU and RNN over a sequence of which the length is known, as steps one after the other. Of one request: the
 * batch axis is 1.
 */
import type { Value } from "../../graph/operator.ts";
import { type Tensor, tensor } from "../../tensor/tensor.ts";
import { attributeOf } from "../ir.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { sliceAxis } from "./moves.ts";

/** Steps that are written out in a cell. */
const STEPS_MAX = 256;

interface Step {
  readonly h: Value;
  readonly c?: Value;
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
  /** Place of the peepholes. */
  readonly cell: boolean;
  /** What it has besides, which steps do not. */
  isPlain(view: LoweredNode): boolean;
  step(view: LoweredNode, x: Value, before: Step, weights: Weights): Step;
}

function weightsOf(view: LoweredNode, direction: number): Weights {
  const part = (i: number): Tensor => {
    const { dims, data } = view.constant(i)!;
    const [, ...shape] = dims;
    const size = data.length / dims[0];
    return tensor(
      shape,
      (data as Float32Array).subarray(direction * size, (direction + 1) * size),
    );
  };
  return { w: part(1), r: part(2), ...(view.has(3) && { b: part(3) }) };
}

const recurrent = (kind: Kind): NodeLowering => (view) => {
  const x = view.operand();
  const isForTime = view.int("layout", 0) === 0 && x.rank === 3 &&
    x.dims[1] === 1 && x.dims[0] <= STEPS_MAX && x.type === "float32";
  const isOfWeights = [1, 2, 3].every((i) => view.isWeight(i)) &&
    view.constant(1) !== undefined && view.constant(2) !== undefined;
  const names = attributeOf(view.node, "activations", "strings");
  const isUsual = !view.has(4) && !view.has(7) &&
    (names?.every((name, i) =>
      name === kind.activations[i % kind.activations.length]
    ) ?? true) && !view.node.attributes.has("clip") && kind.isPlain(view);
  if (!isForTime || !isOfWeights || !isUsual) return undefined;
  const { op } = view;
  const [time, , width] = x.dims;
  const hidden = view.constant(2)!.dims[2];
  const way = view.text("direction", "forward");
  const directions = way === "bidirectional" ? ["forward", "reverse"] : [way];
  const inTime: Value[][] = [];
  const last: Step[] = [];
  directions.forEach((direction, d) => {
    const weights = weightsOf(view, d);
    const state = (i: number): Value =>
      view.has(i)
        ? op.Reshape(
          sliceAxis(op, view.operand(i).row, 0, {
            start: d,
            count: 1,
            step: 1,
          }),
          [hidden],
        )
        : op.Constant(tensor([hidden], new Float32Array(hidden)));
    let step: Step = {
      h: state(5),
      ...(kind.cell && { c: state(6) }),
    };
    const made = new Array<Value>(time);
    for (let i = 0; i < time; i++) {
      const t = direction === "reverse" ? time - 1 - i : i;
      const range = { start: t, count: 1, step: 1 };
      const now = op.Reshape(sliceAxis(op, x.row, 0, range), [width]);
      step = kind.step(view, now, step, weights);
      made[t] = step.h;
    }
    inTime.push(made);
    last.push(step);
  });
  const joined = (values: readonly Value[]) =>
    values.length === 1
      ? values[0]
      : op.Concat(...values.map((value) => op.Reshape(value, [value.width])));
  const steps = Array.from(
    { length: time },
    (_, t) => inTime.map((made) => made[t]),
  ).flat();
  return [
    ...(view.wants(0) ? [joined(steps)] : [last[0].h]),
    joined(last.map(({ h }) => h)),
    ...(kind.cell ? [joined(last.map(({ c }) => c!))] : []),
  ];
};

/** A product with the input and one with the state, both with a bias. */
function sumsOf(
  { op }: LoweredNode,
  x: Value,
  h: Value,
  { w, r, b }: Weights,
): Value {
  const [n, wide] = w.shape;
  const deep = r.shape[1];
  const weight = new Float32Array(n * (wide + deep));
  for (let row = 0; row < n; row++) {
    weight.set(
      w.data.subarray(row * wide, (row + 1) * wide),
      row * (wide + deep),
    );
    weight.set(
      r.data.subarray(row * deep, (row + 1) * deep),
      row * (wide + deep) + wide,
    );
  }
  const bias = b &&
    tensor(
      [n],
      Float32Array.from({ length: n }, (_, i) => b.data[i] + b.data[n + i]),
    );
  return op.Gemm(op.Concat(x, h), tensor([n, wide + deep], weight), bias);
}

export const RECURRENT: Readonly<Record<string, NodeLowering>> = {
  LSTM: recurrent({
    gates: 4,
    activations: ["Sigmoid", "Tanh", "Tanh"],
    cell: true,
    isPlain: (view) => view.int("input_forget", 0) === 0,
    step: ({ op }, x, { h, c }, weights) => op.LSTM(x, h, c!, weights),
  }),
  GRU: recurrent({
    gates: 3,
    activations: ["Sigmoid", "Tanh"],
    cell: false,
    isPlain: (view) => view.int("linear_before_reset", 0) === 1,
    step: ({ op }, x, { h }, weights) => ({ h: op.GRU(x, h, weights) }),
  }),
  RNN: recurrent({
    gates: 1,
    activations: ["Tanh"],
    cell: false,
    isPlain: () => true,
    step: (view, x, { h }, weights) => ({
      h: view.op.Tanh(sumsOf(view, x, h, weights)),
    }),
  }),
};
