/**
 * LSTM, GRU and RNN over a sequence of which the length is known, written out in a cell, one step after the other. Of
 * one request: the batch axis is 1.
 */
import type { Value } from "../../graph/operator.ts";
import { tensor } from "../../tensor/tensor.ts";
import type { NodeLowering } from "./lowered_node.ts";
import { sliceAxis } from "./moves.ts";
import type { StepState } from "./recurrence.ts";
import { recurrenceOf } from "./recurrences.ts";

/** Steps that are written out in a cell. */
const STEPS_MAX = 256;

const recurrent: NodeLowering = (view) => {
  const found = recurrenceOf(view.node, (name) => view.around.known(name));
  if (found === undefined || found.positions > STEPS_MAX) return undefined;
  const { positions, width, hidden, states, directions } = found;
  const { op } = view;
  const x = view.operand();
  const inTime: Value[][] = [];
  const last: StepState[] = [];
  directions.forEach(({ isReverse, step }, d) => {
    const initial = (i: number): Value =>
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
    let state: StepState = {
      h: initial(5),
      ...(states.includes("c") && { c: initial(6) }),
    };
    const made = new Array<Value>(positions);
    for (let i = 0; i < positions; i++) {
      const t = isReverse ? positions - 1 - i : i;
      const range = { start: t, count: 1, step: 1 };
      const now = op.Reshape(sliceAxis(op, x.row, 0, range), [width]);
      state = step(op, now, state);
      made[t] = state.h;
    }
    inTime.push(made);
    last.push(state);
  });
  const joined = (values: readonly Value[]) =>
    values.length === 1
      ? values[0]
      : op.Concat(...values.map((value) => op.Reshape(value, [value.width])));
  const steps = Array.from(
    { length: positions },
    (_, t) => inTime.map((made) => made[t]),
  ).flat();
  return [
    ...(view.wants(0) ? [joined(steps)] : [last[0].h]),
    joined(last.map(({ h }) => h)),
    ...(states.includes("c") ? [joined(last.map(({ c }) => c!))] : []),
  ];
};

/** Of `com.microsoft`. */
export const CONTRIB_RECURRENT: Readonly<Record<string, NodeLowering>> = {
  DynamicQuantizeLSTM: recurrent,
};

export const RECURRENT: Readonly<Record<string, NodeLowering>> = {
  LSTM: recurrent,
  GRU: recurrent,
  RNN: recurrent,
};
