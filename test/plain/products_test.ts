/** Products of matrices and what is quantised. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  scalarOf,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  at,
  floats,
  made,
  outputOf,
  outputsOf,
  tensorOf,
} from "./run_operator.ts";

const size = fc.integer({ min: 1, max: 4 });
const runs = { numRuns: propertyRuns(150) };

Deno.test("MatMul multiplies matrices, batches broadcast, in floats and integers", () => {
  const drawn = fc.tuple(
    size,
    size,
    size,
    size,
    fc.boolean(),
    fc.constantFrom("float32" as const, "int32" as const, "int64" as const),
  ).chain(([batch, m, k, n, isShared, type]) =>
    fc.tuple(
      tensorOf(type, [batch, m, k]),
      tensorOf(type, isShared ? [k, n] : [batch, k, n]),
    )
  );
  fc.assert(
    fc.property(drawn, ([a, b]) => {
      const [batch, m, k] = a.dims;
      const n = b.dims.at(-1) as number;
      const isShared = b.dims.length === 2;
      const expected = made(a.type, [batch, m, n], ([i, row, column]) => {
        let sum = 0;
        for (let step = 0; step < k; step++) {
          sum += at(a, [i, row, step]) *
            at(b, isShared ? [step, column] : [i, step, column]);
        }
        return sum;
      });
      assert.deepEqual(outputOf("MatMul", [a, b]), expected);
      if (a.type !== "float32") return;
      const equation = isShared ? "bij,jk->bik" : "bij,bjk->bik";
      assert.deepEqual(outputOf("Einsum", [a, b], { equation }), expected);
    }),
    runs,
  );
});

Deno.test("a vector is a row on the left, a column on the right", () => {
  const v = floats([2], 1, 2);
  const m = floats([2, 3], 1, 2, 3, 4, 5, 6);
  assert.deepEqual(outputOf("MatMul", [v, m]), floats([3], 9, 12, 15));
  assert.deepEqual(
    outputOf("MatMul", [outputOf("Transpose", [m]), v]),
    floats([3], 9, 12, 15),
  );
  assert.deepEqual(outputOf("MatMul", [v, v]), floats([], 5));
  assert.throws(() => outputOf("MatMul", [m, m]), /MatMul: dims .* multiply/);
});

Deno.test("Gemm is MatMul, scaled, with C broadcast", () => {
  fc.assert(
    fc.property(
      size,
      size,
      size,
      fc.boolean(),
      fc.boolean(),
      (m, k, n, transA, transB) => {
        const a = made("float32", [m, k], ([i, j]) => i - 2 * j);
        const b = made("float32", [k, n], ([i, j]) => 3 * i + j);
        const c = made("float32", [n], ([j]) => 7 * j);
        const turned = (x: PlainTensor, is: boolean) =>
          is ? outputOf("Transpose", [x]) : x;
        const got = outputOf(
          "Gemm",
          [turned(a, transA), turned(b, transB), c],
          {
            alpha: { float: 2 },
            beta: { float: 0.5 },
            transA: Number(transA),
            transB: Number(transB),
          },
        );
        const product = outputOf("MatMul", [a, b]);
        const expected = made(
          "float32",
          [m, n],
          ([i, j]) => 2 * at(product, [i, j]) + 0.5 * at(c, [j]),
        );
        assert.deepEqual(got, expected);
      },
    ),
    runs,
  );
});

Deno.test("Einsum knows diagonals, ellipses, sums, and letters without an arrow", () => {
  const m = floats([2, 2], 1, 2, 3, 4);
  const x = made("float32", [2, 3, 2, 2], ([a, b, i, j]) => a + b * 2 + i - j);
  const run = (equation: string, ...inputs: PlainTensor[]) =>
    outputOf("Einsum", inputs, { equation });
  assert.deepEqual(run("ii->i", m), floats([2], 1, 4));
  assert.deepEqual(run("ii", m), floats([], 5));
  assert.deepEqual(run("ij->", m), floats([], 10));
  assert.deepEqual(run("ba", m), outputOf("Transpose", [m]));
  assert.deepEqual(
    run("i , j -> ij", floats([2], 1, 2), floats([2], 3, 4)).data,
    Float32Array.of(3, 4, 6, 8),
  );
  assert.deepEqual(run("...ij,...jk->...ik", x, m), outputOf("MatMul", [x, m]));
  assert.throws(() => run("ij,jk->ik", m), /Einsum: attribute equation/);
  assert.throws(() => run("ij->ik", m), /Einsum: attribute equation/);
});

Deno.test("what is quantised comes back within half a step", () => {
  fc.assert(
    fc.property(
      fc.array(fc.float({ min: -3, max: 3, noNaN: true }), { minLength: 1 }),
      (values) => {
        const x = floats([values.length], ...values);
        const scale = Math.fround(3 / 100);
        const step = scalarOf("float32", scale);
        const zero = scalarOf("int8", 3);
        const q = outputOf("QuantizeLinear", [x, step, zero]);
        const back = outputOf("DequantizeLinear", [q, step, zero]);
        numbersOf(back).forEach((value, i) =>
          assert.ok(Math.abs(value - x.data[i]) <= scale * 0.5001)
        );
      },
    ),
    runs,
  );
});

Deno.test("scales are one for all, one for each index of an axis, or one for each block of it", () => {
  const x = plainOf("int8", [2, 3], [1, 2, 3, 4, 5, 6]);
  const run = (scale: PlainTensor, attributes = {}) =>
    numbersOf(outputOf("DequantizeLinear", [x, scale], attributes));
  assert.deepEqual(run(floats([], 2)), [2, 4, 6, 8, 10, 12]);
  assert.deepEqual(run(floats([3], 1, 2, 3)), [1, 4, 9, 4, 10, 18]);
  assert.deepEqual(run(floats([2], 1, 2), { axis: 0 }), [1, 2, 3, 8, 10, 12]);
  assert.deepEqual(
    run(floats([2, 2], 1, 2, 3, 4), { block_size: 2 }),
    [1, 2, 6, 12, 15, 24],
  );
  assert.throws(
    () => run(floats([2], 1, 2)),
    /DequantizeLinear: a scale or zero point has dims \[2\], expected \[3\]/,
  );
});

Deno.test("rounding is to the nearest, of two the even one, and cut off at the type's bounds", () => {
  const x = floats([6], 0.5, 1.5, -0.5, -2.5, 1000, -1000);
  const one = floats([], 1);
  const run = (zero: PlainTensor) =>
    numbersOf(outputOf("QuantizeLinear", [x, one, zero]));
  assert.deepEqual(run(scalarOf("int8", 0)), [0, 2, 0, -2, 127, -128]);
  assert.deepEqual(run(scalarOf("uint8", 10)), [10, 12, 10, 8, 255, 0]);
  assert.deepEqual(run(scalarOf("int16", 0)), [0, 2, 0, -2, 1000, -1000]);
});

Deno.test("NaN becomes the zero point, and no dynamic range has it", () => {
  const x = floats([2], NaN, 1);
  const zero = scalarOf("int8", 7);
  const quantized = outputOf("QuantizeLinear", [x, floats([], 1), zero]);
  assert.deepEqual(numbersOf(quantized), [7, 8]);
  assert.deepEqual(
    outputsOf("DynamicQuantizeLinear", [x]).map(numbersOf),
    [[0, 0], [NaN], [0]],
  );
});

Deno.test("a dynamic range has 0 in it; where all is 0, the scale is 1", () => {
  const run = (...values: number[]) =>
    outputsOf("DynamicQuantizeLinear", [floats([values.length], ...values)])
      .map(numbersOf);
  // Worked by hand: 0 to 2.55 in 255 steps of 0.01.
  assert.deepEqual(run(1, 2.55), [[100, 255], [Math.fround(0.01)], [0]]);
  assert.deepEqual(run(-1, 1.55), [[0, 255], [Math.fround(0.01)], [100]]);
  assert.deepEqual(run(0, 0), [[0, 0], [1], [0]]);
});

Deno.test("QLinearMatMul is MatMulInteger, scaled and rounded", () => {
  fc.assert(
    fc.property(
      fc.tuple(size, size, size).chain(([m, k, n]) =>
        fc.tuple(tensorOf("uint8", [m, k]), tensorOf("int8", [k, n]))
      ),
      fc.nat({ max: 8 }),
      fc.integer({ min: -4, max: 4 }),
      ([a, b], p, q) => {
        const [aZero, bZero] = [scalarOf("uint8", p), scalarOf("int8", q)];
        const sums = outputOf("MatMulInteger", [a, b, aZero, bZero]);
        const product = outputOf("MatMul", [
          made("int32", a.dims, (index) => at(a, index) - p),
          made("int32", b.dims, (index) => at(b, index) - q),
        ]);
        assert.deepEqual(sums, product);
        const [scale, zero] = [floats([], 0.5), scalarOf("uint8", 100)];
        const got = outputOf("QLinearMatMul", [
          a,
          floats([], 0.5),
          aZero,
          b,
          floats([], 0.25),
          bZero,
          scale,
          zero,
        ]);
        const real = outputOf("Mul", [
          outputOf("Cast", [sums], { to: 1 }),
          floats([], 0.125),
        ]);
        assert.deepEqual(
          got,
          outputOf("QuantizeLinear", [real, scale, zero]),
        );
      },
    ),
    runs,
  );
});
