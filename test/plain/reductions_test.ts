/** Reductions against sums over all indices, and their versions. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { numbersOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  indicesOf,
  int64,
  made,
  outputOf,
  shapes,
  tensorOf,
} from "./run_operator.ts";

const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);

/** What a list of elements comes to. */
const REDUCTIONS: Record<string, (list: number[]) => number> = {
  ReduceSum: sum,
  ReduceMean: (list) => sum(list) / list.length,
  ReduceMax: (list) => Math.max(...list),
  ReduceMin: (list) => Math.min(...list),
  ReduceProd: (list) => list.reduce((a, b) => a * b, 1),
  ReduceL1: (list) => sum(list.map(Math.abs)),
  ReduceL2: (list) => Math.hypot(...list),
  ReduceSumSquare: (list) => sum(list.map((x) => x * x)),
};

/** A tensor with some of its axes. */
const reduced = shapes(1, 4).chain((dims) =>
  fc.tuple(tensorOf("float32", dims), fc.subarray([...dims.keys()]))
);

/** Elements that lie in a lane. */
function lane(x: PlainTensor, axes: number[], index: number[]): number[] {
  return indicesOf(x.dims).filter((other) =>
    other.every((i, axis) => axes.includes(axis) || i === index[axis])
  ).map((other) => at(x, other));
}

Deno.test("reductions are what all elements of a lane come to", () => {
  fc.assert(
    fc.property(
      reduced,
      fc.constantFrom(...Object.keys(REDUCTIONS)),
      fc.boolean(),
      ([x, axes], op, fromBack) => {
        // No axes are all of them.
        const taken = axes.length > 0 ? axes : [...x.dims.keys()];
        const given = axes.map((axis) =>
          fromBack ? axis - x.dims.length : axis
        );
        const ones = x.dims.map((size, axis) =>
          taken.includes(axis) ? 1 : size
        );
        const expected = numbersOf(
          made(
            "float32",
            ones,
            (index) => REDUCTIONS[op](lane(x, taken, index)),
          ),
        );
        const got = outputOf(op, [x, int64(...given)]);
        assert.deepEqual(got.dims, ones);
        numbersOf(got).forEach((value, i) =>
          assert.ok(
            Math.abs(value - expected[i]) <= 1e-6 * Math.abs(expected[i]),
            `${op} ${value} ${expected[i]}`,
          )
        );
        const flat = outputOf(op, [x, int64(...given)], { keepdims: 0 });
        assert.deepEqual(
          flat.dims,
          x.dims.filter((_, axis) => !taken.includes(axis)),
        );
        assert.deepEqual(flat.data, got.data);
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("axes are attributes first, inputs later: of ReduceSum from 13, of the others from 18", () => {
  const x = floats([2, 2], 1, 2, 3, 4);
  const run = (op: string, opset: number, isInput: boolean) =>
    numbersOf(
      outputOf(
        op,
        isInput ? [x, int64(0)] : [x],
        isInput ? { keepdims: 0 } : { keepdims: 0, axes: [0] },
        { opset },
      ),
    );
  assert.deepEqual(run("ReduceSum", 11, false), [4, 6]);
  assert.deepEqual(run("ReduceSum", 13, true), [4, 6]);
  assert.deepEqual(run("ReduceMax", 13, false), [3, 4]);
  assert.deepEqual(run("ReduceMax", 18, true), [3, 4]);
  const none = outputOf("ReduceSum", [x, int64()], { noop_with_empty_axes: 1 });
  assert.deepEqual(none, x);
});

Deno.test("reductions of nothing are what they begin with", () => {
  const x = floats([2, 0]);
  const run = (op: string) => numbersOf(outputOf(op, [x, int64(1)]));
  assert.deepEqual(run("ReduceSum"), [0, 0]);
  assert.deepEqual(run("ReduceProd"), [1, 1]);
  assert.deepEqual(run("ReduceMax"), [-Infinity, -Infinity]);
  assert.deepEqual(run("ReduceMin"), [Infinity, Infinity]);
  assert.deepEqual(run("ReduceLogSumExp"), [-Infinity, -Infinity]);
});

Deno.test("a logarithm of a sum of exponentials does not overflow", () => {
  const x = floats([2], 1000, 1000);
  assert.deepEqual(
    numbersOf(outputOf("ReduceLogSumExp", [x], { keepdims: 0 })),
    [Math.fround(1000 + Math.log(2))],
  );
});

Deno.test("ArgMax and ArgMin find the first of equals, or the last", () => {
  const x = floats([2, 4], 3, 9, 9, 1, 5, 5, 5, 5);
  const run = (op: string, last: number) =>
    numbersOf(
      outputOf(op, [x], { axis: -1, keepdims: 0, select_last_index: last }),
    );
  assert.deepEqual(run("ArgMax", 0), [1, 0]);
  assert.deepEqual(run("ArgMax", 1), [2, 3]);
  assert.deepEqual(run("ArgMin", 0), [3, 0]);
  assert.deepEqual(run("ArgMin", 1), [3, 3]);
});

Deno.test("running sums are sums of what came before", () => {
  fc.assert(
    fc.property(
      shapes(1, 3).chain((dims) =>
        fc.tuple(tensorOf("int64", dims), fc.nat({ max: dims.length - 1 }))
      ),
      fc.boolean(),
      fc.boolean(),
      ([x, axis], isExclusive, isReversed) => {
        const got = outputOf("CumSum", [x, int64(axis)], {
          exclusive: Number(isExclusive),
          reverse: Number(isReversed),
        });
        const expected = made("int64", x.dims, (index) =>
          sum(
            Array.from({ length: x.dims[axis] }, (_, i) => i).filter((i) => {
              const over = isReversed ? i - index[axis] : index[axis] - i;
              return isExclusive ? over > 0 : over >= 0;
            }).map((i) => at(x, index.with(axis, i))),
          ));
        assert.deepEqual(got, expected);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("Softmax is over everything from its axis on before 13, over the axis alone from then on", () => {
  const x = floats([2, 2, 2], 0, 0, 0, 0, 0, 0, 0, 0);
  const run = (opset: number, attributes = {}) =>
    at(outputOf("Softmax", [x], attributes, { opset }), [0, 0, 0]);
  assert.equal(run(12), 0.25);
  assert.equal(run(12, { axis: 0 }), 0.125);
  assert.equal(run(13), 0.5);
  assert.equal(run(13, { axis: 0 }), 0.5);
});
