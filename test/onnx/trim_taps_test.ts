/** Taps that only meet padding: without them a convolution has the same bits. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { defineCell, image } from "../../src/graph/cell_builder.ts";
import { trimTaps, type Window } from "../../src/onnx/lower/trim_taps.ts";
import { elementCount, type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { onceModel } from "../engine/random_cells.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";

const CHANNELS = 5;
const OUTPUTS = 7;

function weightOf(kernel: readonly number[], prng: Prng): Tensor {
  const shape = [OUTPUTS, CHANNELS, ...kernel];
  return tensor(
    shape,
    Float32Array.from(
      { length: elementCount(shape) },
      () => 2 * prng.float() - 1,
    ),
  );
}

const WHOLE: Window = {
  strides: [1, 1],
  dilations: [1, 1],
  pads: [0, 1, 0, 1],
};

Deno.test("a signal of one element under three taps has one of them, of two elements two", () => {
  const weight = weightOf([1, 3], new Prng(1));
  const one = trimTaps(weight, WHOLE, { height: 1, width: 1 });
  assert.deepEqual(one.weight.shape, [OUTPUTS, CHANNELS, 1, 1]);
  assert.deepEqual(one.window, { ...WHOLE, pads: [0, 0, 0, 0] });
  assert.deepEqual(
    [...one.weight.data],
    [...weight.data].filter((_, i) => i % 3 === 1),
  );
  const two = trimTaps(weight, { ...WHOLE, strides: [1, 2] }, {
    height: 1,
    width: 2,
  });
  assert.deepEqual(two.weight.shape, [OUTPUTS, CHANNELS, 1, 2]);
  assert.deepEqual(two.window.pads, [0, 0, 0, 1]);
  // All of them meet an element somewhere.
  const all = trimTaps(weight, WHOLE, { height: 1, width: 2 });
  assert.equal(all.weight, weight);
});

Deno.test("zero times what is no number is none: such a weight stays whole", () => {
  const weight = weightOf([1, 3], new Prng(1));
  weight.data[0] = Infinity;
  const { weight: kept } = trimTaps(weight, WHOLE, { height: 1, width: 1 });
  assert.equal(kept, weight);
});

Deno.test("a convolution has the same bits without taps that only meet padding", () => {
  const small = (max: number, min = 1) => fc.integer({ min, max });
  const pair = (max: number, min = 1) =>
    fc.tuple(small(max, min), small(max, min));
  let trimmed = 0;
  fc.assert(
    fc.property(
      ...[pair(4), pair(5), pair(3), pair(2)] as const,
      fc.tuple(small(3, 0), small(3, 0), small(3, 0), small(3, 0)),
      fc.integer(),
      ([height, width], kernel, strides, dilations, pads, seed) => {
        const reach = (axis: 0 | 1) => (kernel[axis] - 1) * dilations[axis] + 1;
        fc.pre(height + pads[0] + pads[2] >= reach(0));
        fc.pre(width + pads[1] + pads[3] >= reach(1));
        const prng = new Prng(seed);
        const weight = weightOf(kernel, prng);
        const window = { strides, dilations, pads };
        const less = trimTaps(weight, window, { height, width });
        if (less.weight !== weight) trimmed++;
        const cell = defineCell({
          name: "both",
          inputs: { x: image(height, width, CHANNELS) },
          body: (op, { x }) => ({
            whole: op.Flatten(op.Conv(x, weight, window)),
            less: op.Flatten(op.Conv(x, less.weight, less.window)),
          }),
        });
        const rows = Array.from({ length: 3 }, () => [
          Array.from(
            { length: height * width * CHANNELS },
            () => 2 * prng.float() - 1,
          ),
        ]);
        for (const one of runRequests(onceModel(cell), rows)) {
          assert.deepStrictEqual(one["less"].data, one["whole"].data);
        }
      },
    ),
    { numRuns: propertyRuns(60) },
  );
  assert(trimmed > 10, `only ${trimmed} were trimmed`);
});
