/** Softmax and what is made like it; exponentials of what is below the largest element, sums in f64. */
import { exp } from "../base/elementary/exponential.ts";
import { log } from "../base/elementary/logarithm.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { FLOATS, floats, int } from "./given.ts";
import { axisOf, lanesOf, outputOf, upTo } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";

/** What becomes of a lane, in place. */
type LaneFunction = (lane: Float64Array) => void;

/** Softmax of a lane; of none but minus infinities it is NaN. */
export function softmax(lane: Float64Array): void {
  const most = lane.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (let i = 0; i < lane.length; i++) {
    lane[i] = exp(lane[i] - most);
    sum += lane[i];
  }
  for (let i = 0; i < lane.length; i++) lane[i] /= sum;
}

function logSoftmax(lane: Float64Array): void {
  const most = lane.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = lane.reduce((a, b) => a + exp(b - most), 0);
  const whole = log(sum);
  for (let i = 0; i < lane.length; i++) lane[i] = lane[i] - most - whole;
}

/** 1 at the first of the largest, 0 elsewhere. */
function hardmax(lane: Float64Array): void {
  let best = 0;
  lane.forEach((x, i) => {
    if (x > lane[best]) best = i;
  });
  lane.fill(0);
  if (lane.length > 0) lane[best] = 1;
}

/** A lane is everything from the axis on before version 13 of the operator set, the axis alone from then on. */
function alongAxis(f: LaneFunction): PlainOperator {
  return {
    since: [1, 11, 13],
    types: FLOATS,
    run: (inputs, attributes, { opset }): PlainTensor[] => {
      const x = floats(inputs, 0, "input");
      const rank = x.dims.length;
      const given = int(attributes, "axis", opset < 13 ? 1 : -1);
      // Before version 13, one more than there are axes: lanes of one element.
      const axis = opset < 13 && given === rank ? rank : axisOf(given, rank);
      const { starts, steps } = lanesOf(
        x.dims,
        opset < 13 ? upTo(rank).slice(axis) : [axis],
      );
      const result = outputOf("float32", x.dims);
      const lane = new Float64Array(steps.length);
      for (const start of starts) {
        steps.forEach((step, i) => lane[i] = x.data[start + step]);
        f(lane);
        steps.forEach((step, i) => result.data[start + step] = lane[i]);
      }
      return [result];
    },
  };
}

export const SOFTMAXES: Readonly<Record<string, PlainOperator>> = {
  Softmax: alongAxis(softmax),
  LogSoftmax: alongAxis(logSoftmax),
  Hardmax: alongAxis(hardmax),
};
