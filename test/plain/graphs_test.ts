/** Operators with graphs, transforms, resizing, boxes. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { PlainContext } from "../../src/plain/operator.ts";
import {
  numbersOf,
  type PlainTensor,
  scalarOf,
} from "../../src/tensor/plain_tensor.ts";
import { difference } from "../onnx/node_cases.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  int64,
  made,
  outputOf,
  outputsOf,
} from "./run_operator.ts";

const bool = (holds: boolean) => scalarOf("bool", Number(holds));
const prng = new Prng(11);
const random = (...dims: number[]): PlainTensor =>
  made("float32", dims, () => prng.float() * 2 - 1);

/** A context whose graphs are a function. */
function running(
  outputs: number,
  runGraph: PlainContext["runGraph"],
): Partial<PlainContext> {
  return {
    outputs,
    runGraph,
    graphOutput: () => ({ type: "float32", dims: [null, 2] }),
  };
}

Deno.test("If runs the branch that its condition names", () => {
  const context = running(1, (name) => [floats([], name.length)]);
  assert.deepEqual(outputOf("If", [bool(true)], {}, context), floats([], 11));
  assert.deepEqual(outputOf("If", [bool(false)], {}, context), floats([], 11));
  const named = running(
    1,
    (name) => [floats([], name === "then_branch" ? 1 : 2)],
  );
  assert.deepEqual(outputOf("If", [bool(true)], {}, named), floats([], 1));
  assert.deepEqual(outputOf("If", [bool(false)], {}, named), floats([], 2));
  assert.throws(
    () => outputOf("If", [bool(true)]),
    /If: there is nothing to run its graphs/,
  );
});

Deno.test("Loop steps while its condition holds, at most as often as asked, and stacks", () => {
  // Adds the step to the state, goes on while that is below 6, and gives its state out.
  const context = running(2, (_, [step, , state]) => {
    const next = Number(state.data[0]) + Number(step.data[0]);
    const value = floats([1], next);
    return [bool(next < 6), value, value];
  });
  const run = (steps: PlainTensor | undefined, holds?: PlainTensor) =>
    outputsOf("Loop", [steps, holds, floats([1], 0)], {}, context);
  assert.deepEqual(run(int64(100)), [
    floats([1], 6),
    floats([4, 1], 0, 1, 3, 6),
  ]);
  assert.deepEqual(run(int64(3), bool(true)), [
    floats([1], 3),
    floats([3, 1], 0, 1, 3),
  ]);
  assert.deepEqual(run(undefined), run(int64(100)));
  // Of no steps, the stack is empty: its dims are those that the body declares.
  assert.deepEqual(run(int64(5), bool(false)), [
    floats([1], 0),
    floats([0, 0, 2]),
  ]);
});

Deno.test("Scan goes over an axis, forwards or backwards, and stacks along one", () => {
  const x = floats([2, 3], 1, 2, 3, 10, 20, 30);
  const context = running(2, (_, [state, element]) => {
    const sum = outputOf("Add", [state, element]);
    return [sum, sum];
  });
  const run = (attributes: Record<string, number | number[]>) =>
    outputsOf("Scan", [floats([2], 0, 0), x], {
      num_scan_inputs: 1,
      scan_input_axes: [1],
      ...attributes,
    }, context);
  const [last, sums] = run({ scan_output_axes: [1] });
  assert.deepEqual(last, floats([2], 6, 60));
  assert.deepEqual(sums, outputOf("CumSum", [x, int64(1)]));
  const [, backwards] = run({
    scan_input_directions: [1],
    scan_output_axes: [-1],
    scan_output_directions: [1],
  });
  assert.deepEqual(
    backwards,
    outputOf("CumSum", [x, int64(1)], { reverse: 1 }),
  );
});

Deno.test("DFT is its sum, comes back, and has one side where the signal is real", () => {
  for (const size of [5, 8]) {
    const x = random(2, size, 1);
    const whole = outputOf("DFT", [x]);
    const k = 2;
    let [re, im] = [0, 0];
    for (let i = 0; i < size; i++) {
      re += at(x, [1, i, 0]) * Math.cos(-2 * Math.PI * i * k / size);
      im += at(x, [1, i, 0]) * Math.sin(-2 * Math.PI * i * k / size);
    }
    assert.ok(Math.abs(at(whole, [1, k, 0]) - re) < 1e-6);
    assert.ok(Math.abs(at(whole, [1, k, 1]) - im) < 1e-6);
    const back = outputOf("DFT", [whole], { inverse: 1 });
    const real = outputOf("Slice", [back, int64(0), int64(1), int64(2)]);
    assert.equal(difference(real, x, 1e-5, 1e-6), undefined);
    const half = outputOf("DFT", [x], { onesided: 1 });
    assert.deepEqual(
      half,
      outputOf("Slice", [
        whole,
        int64(0),
        int64(Math.floor(size / 2) + 1),
        int64(1),
      ]),
    );
    const again = outputOf("DFT", [half, scalarOf("int64", size)], {
      inverse: 1,
      onesided: 1,
    });
    assert.equal(difference(again, x, 1e-5, 1e-6), undefined);
  }
});

Deno.test("STFT is DFT of frames times a window", () => {
  const x = random(2, 20, 1);
  const window = outputOf("HannWindow", [scalarOf("int64", 6)]);
  const got = outputOf("STFT", [x, scalarOf("int64", 4), window]);
  assert.deepEqual(got.dims, [2, 4, 4, 2]);
  const frame = outputOf("Slice", [x, int64(8), int64(14), int64(1)]);
  const weighted = outputOf("Mul", [
    frame,
    outputOf("Reshape", [window, int64(6, 1)]),
  ]);
  const expected = outputOf("DFT", [weighted], { onesided: 1 });
  const third = outputOf("Gather", [got, scalarOf("int64", 2)], { axis: 1 });
  assert.equal(difference(third, expected, 1e-5, 1e-6), undefined);
});

Deno.test("windows are those of their formulas", () => {
  const run = (op: string, periodic: number) =>
    numbersOf(outputOf(op, [scalarOf("int64", 4)], { periodic }));
  const close = (got: number[], expected: number[]) =>
    got.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-6));
  close(run("HannWindow", 1), [0, 0.5, 1, 0.5]);
  close(run("HannWindow", 0), [0, 0.75, 0.75, 0]);
  close(run("HammingWindow", 1), [4 / 46, 25 / 46, 1, 25 / 46]);
  close(run("BlackmanWindow", 1), [0, 0.34, 1, 0.34]);
});

Deno.test("resizing to the nearest repeats, linearly it halves distances", () => {
  const x = floats([1, 1, 2, 2], 1, 2, 3, 4);
  const scales = floats([4], 1, 1, 2, 2);
  const nearest = outputOf("Resize", [x, undefined, scales]);
  assert.deepEqual(
    numbersOf(nearest),
    [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4],
  );
  assert.deepEqual(
    outputOf("Upsample", [x, scales], {}, { opset: 9 }),
    nearest,
  );
  const line = floats([1, 3], 0, 2, 4);
  const run = (transform: string, sizes: number) =>
    numbersOf(
      outputOf("Resize", [line, undefined, undefined, int64(sizes)], {
        mode: "linear",
        axes: [1],
        coordinate_transformation_mode: transform,
      }),
    );
  assert.deepEqual(run("align_corners", 5), [0, 1, 2, 3, 4]);
  assert.deepEqual(run("half_pixel", 6), [0, 0.5, 1.5, 2.5, 3.5, 4]);
  assert.deepEqual(run("asymmetric", 6), [0, 1, 2, 3, 4, 4]);
  for (const mode of ["nearest", "linear", "cubic"]) {
    const same = outputOf("Resize", [x, undefined, floats([4], 1, 1, 1, 1)], {
      mode,
    });
    assert.deepEqual(same, x);
  }
  assert.throws(
    () => outputOf("Resize", [x]),
    /Resize: one of inputs 2 \(scales\) and 3 \(sizes\) is needed/,
  );
});

Deno.test("before version 11 the nearest is the next one along an axis that becomes smaller", () => {
  // As ONNX Runtime 1.30 has it.
  const x = floats([1, 1, 2, 4], 1, 2, 3, 4, 5, 6, 7, 8);
  const scales = floats([4], 1, 1, 2, 0.6);
  const { dims, data } = outputOf("Resize", [x, scales], {}, { opset: 10 });
  assert.deepEqual(dims, [1, 1, 4, 2]);
  assert.deepEqual([...data], [1, 3, 1, 3, 5, 7, 5, 7]);
  const line = floats([12], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  const shorter = outputOf("Resize", [line, floats([1], 0.7)], {}, {
    opset: 10,
  });
  assert.deepEqual(numbersOf(shorter), [0, 2, 3, 5, 6, 8, 9, 10]);
});

Deno.test("sizes keep their aspect ratio where they should", () => {
  const x = random(2, 4);
  const dims = (keep_aspect_ratio_policy: string) =>
    outputOf("Resize", [x, undefined, undefined, int64(6, 6)], {
      keep_aspect_ratio_policy,
    }).dims;
  assert.deepEqual(dims("stretch"), [6, 6]);
  assert.deepEqual(dims("not_larger"), [3, 6]);
  assert.deepEqual(dims("not_smaller"), [6, 12]);
});

Deno.test("a grid of its own coordinates gives an image back", () => {
  const x = random(1, 2, 3, 4);
  const theta = floats([1, 2, 3], 1, 0, 0, 0, 1, 0);
  for (const align_corners of [0, 1]) {
    const grid = outputOf("AffineGrid", [theta, int64(1, 2, 3, 4)], {
      align_corners,
    });
    for (const mode of ["linear", "nearest", "cubic"]) {
      for (const padding_mode of ["zeros", "border", "reflection"]) {
        const got = outputOf("GridSample", [x, grid], {
          align_corners,
          mode,
          padding_mode,
        });
        assert.equal(difference(got, x, 1e-5, 1e-5), undefined);
      }
    }
  }
});

Deno.test("a cubic near the border has the border's neighbours, and the weights of where it is", () => {
  // As ONNX Runtime 1.30 has it.
  const x = floats([1, 1, 1, 4], 1, 2, 4, 8);
  const grid = floats([1, 1, 5, 2], ...[-0.9, 0, 0.9, 0, 1, 0, 1.5, 0, 9, 0]);
  for (
    const [align_corners, expected] of [
      [0, [0.88975, 8.441, 8.375, 8, 8]],
      [1, [1.099, 7.51794, 8, 8.140625, 8]],
    ] as const
  ) {
    const got = outputOf("GridSample", [x, grid], {
      ...{ align_corners, mode: "cubic", padding_mode: "border" },
    });
    assert.equal(
      difference(got, floats([1, 1, 1, 5], ...expected), 1e-4, 1e-4),
      undefined,
    );
  }
});

Deno.test("of boxes that overlap, the one with the highest score stays", () => {
  const boxes = floats(
    [1, 3, 4],
    ...[0, 0, 1, 1],
    ...[0, 0.1, 1, 1.1],
    ...[0, 2, 1, 3],
  );
  const scores = floats([1, 1, 3], 0.5, 0.9, 0.4);
  const run = (most: number, limit: number, least: number) =>
    numbersOf(
      outputOf("NonMaxSuppression", [
        boxes,
        scores,
        int64(most),
        floats([1], limit),
        floats([1], least),
      ]),
    );
  assert.deepEqual(run(3, 0.5, 0), [0, 0, 1, 0, 0, 2]);
  assert.deepEqual(run(3, 0.9, 0), [0, 0, 1, 0, 0, 0, 0, 0, 2]);
  assert.deepEqual(run(1, 0.9, 0), [0, 0, 1]);
  assert.deepEqual(run(3, 0.9, 0.45), [0, 0, 1, 0, 0, 0]);
});

Deno.test("boxes of scores that are no numbers come last, and are above no threshold", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(NaN, -Infinity, 0.25, 0.5, 0.5, Infinity), {
        ...{ minLength: 1, maxLength: 12 },
      }),
      fc.constantFrom(undefined, -Infinity, 0.25),
      (scores, least) => {
        const { length } = scores;
        const boxes = made(
          "float32",
          [1, length, 4],
          ([, i, edge]) => 2 * i + Number(edge > 1),
        );
        const got = numbersOf(
          outputOf("NonMaxSuppression", [
            ...[boxes, floats([1, 1, length], ...scores)],
            ...[int64(length), floats([1], 0.5)],
            least === undefined ? undefined : floats([1], least),
          ]),
        ).filter((_, i) => i % 3 === 2);
        const ids = scores.map((_, i) => i);
        const values = [Infinity, 0.5, 0.25, -Infinity, NaN];
        assert.deepEqual(
          got,
          values.flatMap((value) =>
            ids.filter((i) =>
              Object.is(scores[i], value) &&
              (least === undefined || value > least)
            )
          ),
        );
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("a region's bin has the largest of as many places as it takes", () => {
  const size = 200;
  const x = made(
    "float32",
    [1, 1, size, size],
    ([, , y, x]) => y === 77 && x === 5 ? 9 : 1,
  );
  const got = outputOf("RoiAlign", [
    x,
    floats([1, 4], 0, 0, size, size),
    int64(0),
  ], { mode: "max", coordinate_transformation_mode: "output_half_pixel" });
  // Places lie between four pixels, each of which counts a quarter.
  assert.deepEqual(numbersOf(got), [9 / 4]);
});

Deno.test("a region of a slope is the slope at its bins' centres", () => {
  const x = made("float32", [1, 1, 8, 8], ([, , y, x]) => 10 * y + x);
  const got = outputOf("RoiAlign", [
    x,
    floats([1, 4], 1, 2, 5, 6),
    int64(0),
  ], { output_height: 2, output_width: 2, sampling_ratio: 2 });
  // Centres at y 3 and 5, x 2 and 4, less the half pixel of the newer versions.
  assert.deepEqual(numbersOf(got), [26.5, 28.5, 46.5, 48.5]);
});
