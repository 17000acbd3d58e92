/** Convolutions and pooling against loops over all elements, and against each other. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  withDims,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  indicesOf,
  made,
  outputOf,
  outputsOf,
  tensorOf,
} from "./run_operator.ts";

/** A window along an axis, and the axis. */
interface Axis {
  size: number;
  kernel: number;
  stride: number;
  dilation: number;
  before: number;
  after: number;
}

const axisSettings: fc.Arbitrary<Axis> = fc.record({
  size: fc.integer({ min: 1, max: 6 }),
  kernel: fc.integer({ min: 1, max: 3 }),
  stride: fc.integer({ min: 1, max: 3 }),
  dilation: fc.integer({ min: 1, max: 2 }),
  before: fc.nat({ max: 2 }),
  after: fc.nat({ max: 2 }),
}).filter((axis) => room(axis) >= 0);

/** Elements that a window may be moved by. */
function room({ size, kernel, dilation, before, after }: Axis): number {
  return size + before + after - ((kernel - 1) * dilation + 1);
}

function attributesOf(axes: readonly Axis[]) {
  return {
    kernel_shape: axes.map(({ kernel }) => kernel),
    strides: axes.map(({ stride }) => stride),
    dilations: axes.map(({ dilation }) => dilation),
    pads: [
      ...axes.map(({ before }) => before),
      ...axes.map(({ after }) => after),
    ],
  };
}

/** A convolution's input, weight and settings, over one to three axes. */
const convolution = fc.tuple(
  fc.array(axisSettings, { minLength: 1, maxLength: 3 }),
  fc.integer({ min: 1, max: 2 }),
  fc.integer({ min: 1, max: 2 }),
  fc.integer({ min: 1, max: 2 }),
).chain(([axes, groups, depth, filters]) => {
  const spatial = axes.map(({ size }) => size);
  const kernel = axes.map(({ kernel }) => kernel);
  return fc.tuple(
    fc.constant({ axes, groups, depth, filters }),
    tensorOf("float32", [2, groups * depth, ...spatial]),
    tensorOf("float32", [groups * filters, depth, ...kernel]),
    tensorOf("float32", [groups * filters]),
  );
});

/** The element of an input that a window's element meets; 0 in the padding. */
function met(
  x: PlainTensor,
  lead: readonly number[],
  window: readonly number[],
  tap: readonly number[],
  axes: readonly Axis[],
): number | undefined {
  const index = axes.map(({ stride, dilation, before }, axis) =>
    window[axis] * stride + tap[axis] * dilation - before
  );
  const isInside = index.every((i, axis) => i >= 0 && i < axes[axis].size);
  return isInside ? at(x, [...lead, ...index]) : undefined;
}

const runs = { numRuns: propertyRuns(150) };

Deno.test("Conv is the sum of a window's products, over one to three axes", () => {
  fc.assert(
    fc.property(convolution, ([{ axes, groups, depth, filters }, x, w, b]) => {
      const out = axes.map((axis) => Math.floor(room(axis) / axis.stride) + 1);
      const got = outputOf("Conv", [x, w, b], {
        ...attributesOf(axes),
        group: groups,
      });
      const taps = indicesOf(axes.map(({ kernel }) => kernel));
      const dims = [2, groups * filters, ...out];
      const expected = made("float32", dims, ([n, m, ...window]) => {
        let sum = at(b, [m]);
        for (let c = 0; c < depth; c++) {
          const channel = Math.floor(m / filters) * depth + c;
          for (const tap of taps) {
            sum += (met(x, [n, channel], window, tap, axes) ?? 0) *
              at(w, [m, c, ...tap]);
          }
        }
        return sum;
      });
      assert.deepEqual(got, expected);
    }),
    runs,
  );
});

Deno.test("a convolution over one axis is one over an image of height 1", () => {
  const x = made("float32", [1, 2, 7], ([, c, i]) => c * 10 + i);
  const w = made("float32", [3, 2, 3], ([m, c, k]) => m - c + k);
  const one = outputOf("Conv", [x, w], { pads: [1, 1], strides: [2] });
  const two = outputOf(
    "Conv",
    [withDims(x, [1, 2, 1, 7]), withDims(w, [3, 2, 1, 3])],
    { pads: [0, 1, 0, 1], strides: [1, 2] },
  );
  assert.deepEqual(withDims(two, one.dims), one);
});

Deno.test("ConvTranspose is Conv the other way round: <Conv x, y> = <x, ConvTranspose y>", () => {
  fc.assert(
    fc.property(
      convolution.chain((given) => {
        const [{ axes, groups, filters }] = given;
        const out = axes.map((axis) =>
          Math.floor(room(axis) / axis.stride) + 1
        );
        return fc.tuple(
          fc.constant(given),
          tensorOf("float32", [2, groups * filters, ...out]),
        );
      }),
      ([[{ axes, groups }, x, w], y]) => {
        const attributes = { ...attributesOf(axes), group: groups };
        // What the windows leave over at the end belongs to the result.
        const output_padding = axes.map((axis) => room(axis) % axis.stride);
        const back = outputOf("ConvTranspose", [y, w], {
          ...attributes,
          output_padding,
        });
        assert.deepEqual(back.dims, x.dims);
        const there = outputOf("Conv", [x, w], attributes);
        assert.equal(inner(there, y), inner(x, back));
      },
    ),
    runs,
  );
});

function inner(a: PlainTensor, b: PlainTensor): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  return left.reduce((sum, value, i) => sum + value * right[i], 0);
}

Deno.test("a transposed convolution is as large as output_shape says, padding at the end or beginning", () => {
  const x = floats([1, 1, 2], 1, 2);
  const w = floats([1, 1, 3], 1, 10, 100);
  const run = (attributes: Record<string, string | number[]>) =>
    numbersOf(outputOf("ConvTranspose", [x, w], attributes));
  assert.deepEqual(run({ strides: [2] }), [1, 10, 102, 20, 200]);
  const output_shape = [4];
  const strides = [2];
  assert.deepEqual(run({ strides, output_shape }), [10, 102, 20, 200]);
  assert.deepEqual(
    run({ strides, output_shape, auto_pad: "SAME_UPPER" }),
    [1, 10, 102, 20],
  );
  assert.deepEqual(
    run({ strides, auto_pad: "SAME_UPPER" }),
    [1, 10, 102, 20],
  );
  assert.deepEqual(
    run({ strides, output_padding: [1] }),
    [1, 10, 102, 20, 200, 0],
  );
});

Deno.test("pooling is what its windows come to; those beyond the input are left out", () => {
  const pooling = fc.array(axisSettings, { minLength: 1, maxLength: 3 }).chain(
    (axes) =>
      fc.tuple(
        fc.constant(axes),
        tensorOf("float32", [1, 2, ...axes.map(({ size }) => size)]),
        fc.boolean(),
        fc.boolean(),
      ),
  ).filter(([axes]) =>
    axes.every(({ before, after, kernel }) => before < kernel && after < kernel)
  );
  fc.assert(
    fc.property(pooling, ([axes, x, isCeil, includesPads]) => {
      const out = axes.map((axis) => {
        const steps = room(axis) / axis.stride;
        const count = (isCeil ? Math.ceil(steps) : Math.floor(steps)) + 1;
        return (count - 1) * axis.stride >= axis.size + axis.before
          ? count - 1
          : count;
      });
      const attributes = {
        ...attributesOf(axes),
        ceil_mode: Number(isCeil),
      };
      const taps = indicesOf(axes.map(({ kernel }) => kernel));
      const dims = [1, 2, ...out];
      const window = ([n, c, ...index]: number[]) =>
        taps.map((tap) => met(x, [n, c], index, tap, axes))
          .filter((value) => value !== undefined);
      assert.deepEqual(
        outputOf("MaxPool", [x], attributes),
        made("float32", dims, (index) => Math.max(...window(index))),
      );
      const means = outputOf("AveragePool", [x], {
        ...attributes,
        count_include_pad: Number(includesPads),
      });
      const expected = made("float32", dims, (index) => {
        const values = window(index);
        const inPads = taps.filter((tap) =>
          axes.every(({ stride, dilation, size, before, after }, axis) =>
            index[axis + 2] * stride + tap[axis] * dilation <
              size + before + after
          )
        ).length;
        const sum = values.reduce((a, b) =>
          a + b, 0);
        return sum / (includesPads ? inPads : values.length);
      });
      assert.deepEqual(means, expected);
    }),
    runs,
  );
});

Deno.test("MaxPool says where its maxima lie, by rows or by columns; MaxUnpool puts them back", () => {
  const x = floats([1, 1, 2, 4], 1, 5, 2, 8, 7, 3, 9, 4);
  const attributes = { kernel_shape: [2, 2], strides: [2, 2] };
  const [values, indices] = outputsOf("MaxPool", [x], attributes, {
    outputs: 2,
  });
  assert.deepEqual(numbersOf(values), [7, 9]);
  assert.deepEqual(numbersOf(indices), [4, 6]);
  const [, byColumns] = outputsOf("MaxPool", [x], {
    ...attributes,
    storage_order: 1,
  }, { outputs: 2 });
  assert.deepEqual(numbersOf(byColumns), [1, 5]);
  assert.deepEqual(
    numbersOf(outputOf("MaxUnpool", [values, indices], attributes)),
    [0, 0, 0, 0, 7, 0, 9, 0],
  );
});

Deno.test("MaxPool keeps a NaN, wherever it lies in a window", () => {
  const kept = [[NaN, 5, 4], [NaN, NaN, 4], [NaN, NaN, NaN]];
  kept.forEach((expected, at) => {
    const x = floats([1, 1, 5], ...[1, 5, 2, 3, 4].with(at, NaN));
    const [values, indices] = outputsOf("MaxPool", [x], { kernel_shape: [3] }, {
      outputs: 2,
    });
    assert.deepEqual(numbersOf(values), expected);
    assert.equal(numbersOf(indices)[0], at);
  });
});

Deno.test("a window of padding only has the least number of its type", () => {
  for (
    const [type, least] of [
      ["int8", -128],
      ["uint8", 0],
      ["float32", -Infinity],
    ] as const
  ) {
    const got = outputOf("MaxPool", [plainOf(type, [1, 1, 3], [5, 6, 7])], {
      ...{ kernel_shape: [2], dilations: [4], pads: [1, 1] },
    });
    assert.deepEqual(numbersOf(got), [least]);
  }
});

Deno.test("auto_pad divides its padding evenly, an odd one with more at the end or the beginning", () => {
  const x = floats([1, 1, 4], 1, 2, 3, 4);
  const run = (auto_pad: string, kernel: number) =>
    numbersOf(
      outputOf("AveragePool", [x], {
        auto_pad,
        kernel_shape: [kernel],
        count_include_pad: 1,
      }),
    );
  assert.deepEqual(run("SAME_UPPER", 2), [1.5, 2.5, 3.5, 2]);
  assert.deepEqual(run("SAME_LOWER", 2), [0.5, 1.5, 2.5, 3.5]);
  assert.deepEqual(run("VALID", 2), [1.5, 2.5, 3.5]);
});

Deno.test("an integer convolution's padding is the zero point", () => {
  const x = plainOf("uint8", [1, 1, 3], [3, 4, 5]);
  const w = plainOf("int8", [1, 1, 3], [1, 1, 1]);
  const got = outputOf("ConvInteger", [x, w, plainOf("uint8", [], [3])], {
    pads: [1, 1],
  });
  assert.deepEqual(got, plainOf("int32", [1, 1, 3], [1, 3, 3]));
});

Deno.test("of a size that is rounded up, the first window may be cut off, too", () => {
  const x = floats([1, 1, 6], 1, 5, 2, 6, 3, 4);
  const ceil = { ceil_mode: 1, strides: [3] };
  // Elements 0, 2, 4 and one that is not there.
  const far = { kernel_shape: [4], dilations: [2], ...ceil };
  assert.deepEqual(outputOf("MaxPool", [x], far), floats([1, 1, 1], 3));
  assert.deepEqual(outputOf("AveragePool", [x], far), floats([1, 1, 1], 2));
  const [, places] = outputsOf("MaxPool", [x], far, { outputs: 2 });
  assert.deepEqual(numbersOf(places), [4]);
  assert.throws(
    () => outputOf("MaxPool", [x], { ...far, ceil_mode: 0 }),
    /a window of 7 elements over 6/,
  );
  // Its beginning would be behind the image.
  assert.throws(
    () => outputOf("MaxPool", [x], { ...far, strides: [1] }),
    /a window of 7 elements over 6/,
  );
});
