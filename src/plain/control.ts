/** Operators with graphs of their own, which the caller runs (`PlainContext.runGraph`). */
import { describeShape } from "../base/describe.ts";
import {
  PLAIN_TYPES,
  type PlainTensor,
  scalarOf,
  withDims,
} from "../tensor/plain_tensor.ts";
import {
  BOOLS,
  input,
  ints,
  optionalScalar,
  requiredInt,
  scalar,
} from "./given.ts";
import { axisOf, outputOf } from "./layout.ts";
import { joined, part } from "./moves.ts";
import type { PlainContext, PlainOperator } from "./operator.ts";

const VERSIONS = [16, 19, 21, 23, 24, 25];

function graphRunner({ runGraph }: PlainContext) {
  if (!runGraph) throw new TypeError("there is nothing to run its graphs");
  return runGraph;
}

const If: PlainOperator = {
  since: [1, 11, 13, ...VERSIONS],
  types: BOOLS,
  limits: "no sequences",
  run: (inputs, _, context) => {
    const holds = scalar(inputs, 0, "cond", BOOLS) === 1;
    return [
      ...graphRunner(context)(holds ? "then_branch" : "else_branch", []),
    ];
  },
};

/** Results of steps along a new axis. */
function stacked(steps: readonly PlainTensor[], axis: number): PlainTensor {
  const rank = steps[0].dims.length + 1;
  const at = axisOf(axis, rank);
  return joined(
    steps.map((step) => withDims(step, step.dims.toSpliced(at, 0, 1))),
    at,
  );
}

/** What is stacked of no steps: nothing, of the type and dims that the body declares. */
function emptyStack(
  { graphOutput }: PlainContext,
  output: number,
  axis: number,
): PlainTensor {
  const declared = graphOutput?.("body", output);
  if (!declared) {
    throw new RangeError(
      `output ${output} of its body is stacked of no steps, and its type is not known`,
    );
  }
  const dims = declared.dims.map((size) => size ?? 0);
  const at = axisOf(axis, dims.length + 1);
  return outputOf(declared.type, dims.toSpliced(at, 0, 0));
}

/** Results that a body gives for its state, and those to be stacked. */
function checkResults(
  results: readonly PlainTensor[],
  expected: number,
): void {
  if (results.length !== expected) {
    throw new RangeError(
      `its body has ${results.length} outputs, expected ${expected}`,
    );
  }
}

/** Steps of a loop: one that would not end is ended. */
const STEPS_MAX = 2 ** 20;

/** Steps as long as a condition holds, at most as many as asked for; either may be left out. */
const Loop: PlainOperator = {
  since: [1, 11, 13, ...VERSIONS],
  types: PLAIN_TYPES,
  limits: "no sequences; up to 2^20 steps",
  run: (inputs, _, context) => {
    const runGraph = graphRunner(context);
    const steps = optionalScalar(inputs, 0, "M", ["int64"]) ?? Infinity;
    let holds = optionalScalar(inputs, 1, "cond", BOOLS) !== 0;
    let state = inputs.slice(2).map((_, i) =>
      input(inputs, i + 2, `v_initial_${i}`)
    );
    const count = state.length;
    const stacks: PlainTensor[][] = Array.from(
      { length: Math.max(0, context.outputs - count) },
      () => [],
    );
    for (let step = 0; step < steps && holds; step++) {
      if (step >= STEPS_MAX) {
        throw new RangeError(`it does not end within ${STEPS_MAX} steps`);
      }
      const results = runGraph("body", [
        scalarOf("int64", step),
        scalarOf("bool", 1),
        ...state,
      ]);
      checkResults(results, 1 + count + stacks.length);
      holds = scalar(results, 0, "cond", BOOLS) === 1;
      state = results.slice(1, 1 + count);
      stacks.forEach((stack, i) => stack.push(results[1 + count + i]));
    }
    return [
      ...state,
      ...stacks.map((stack, i) =>
        stack.length > 0
          ? stacked(stack, 0)
          : emptyStack(context, 1 + count + i, 0)
      ),
    ];
  },
};

/** A step for each element along an axis of the inputs; directions 1 go from the last one on. */
const Scan: PlainOperator = {
  since: [9, 11, ...VERSIONS],
  types: PLAIN_TYPES,
  limits: "from version 9 on; no sequences",
  run: (inputs, attributes, context) => {
    const runGraph = graphRunner(context);
    const scans = requiredInt(attributes, "num_scan_inputs");
    const count = inputs.length - scans;
    if (!(scans >= 1 && count >= 0)) {
      throw new RangeError(
        `attribute num_scan_inputs is ${scans}, there are ${inputs.length} inputs`,
      );
    }
    const all = inputs.map((_, i) => input(inputs, i, `input_${i}`));
    let state = all.slice(0, count);
    const axes = ints(attributes, "scan_input_axes");
    const directions = ints(attributes, "scan_input_directions");
    const sequences = all.slice(count).map((x, i) => ({
      x,
      axis: axisOf(axes?.[i] ?? 0, x.dims.length),
      isReversed: directions?.[i] === 1,
    }));
    const lengths = sequences.map(({ x, axis }) => x.dims[axis]);
    const [length] = lengths;
    if (lengths.some((other) => other !== length)) {
      throw new RangeError(
        `inputs have ${describeShape(lengths)} steps, expected as many of each`,
      );
    }
    const outAxes = ints(attributes, "scan_output_axes");
    const outDirections = ints(attributes, "scan_output_directions");
    const stacks: PlainTensor[][] = Array.from(
      { length: Math.max(0, context.outputs - count) },
      () => [],
    );
    for (let step = 0; step < length; step++) {
      const elements = sequences.map(({ x, axis, isReversed }) => {
        const at = isReversed ? length - 1 - step : step;
        return withDims(part(x, axis, at, 1), x.dims.toSpliced(axis, 1));
      });
      const results = runGraph("body", [...state, ...elements]);
      checkResults(results, count + stacks.length);
      state = results.slice(0, count);
      stacks.forEach((stack, i) => {
        if (outDirections?.[i] === 1) stack.unshift(results[count + i]);
        else stack.push(results[count + i]);
      });
    }
    return [
      ...state,
      ...stacks.map((stack, i) =>
        stack.length > 0
          ? stacked(stack, outAxes?.[i] ?? 0)
          : emptyStack(context, count + i, outAxes?.[i] ?? 0)
      ),
    ];
  },
};

export const CONTROLS: Readonly<Record<string, PlainOperator>> = {
  If,
  Loop,
  Scan,
};
