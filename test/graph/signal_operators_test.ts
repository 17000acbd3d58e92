/** Spectra of rows with axes: shapes, what is refused, and what they cost on the NPU. */
import assert from "node:assert/strict";
import {
  defineCell,
  i32,
  image,
  type Operators,
  type PortSpec,
  row,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";

const cellOf = (x: PortSpec, body: (op: Operators, x: Value) => Value) =>
  defineCell({
    name: "c",
    inputs: { x },
    body: (op, { x }) => ({ y: body(op, x) }),
  });

Deno.test("transforms take the last axis, and put two parts in front of their frequencies", () => {
  const shapeOf = (shape: number[], body: (op: Operators, x: Value) => Value) =>
    cellOf(row("f32", shape), body).outputs[0].shape;
  assert.deepEqual(shapeOf([512], (op, x) => op.RFFT(x)), [2, 257]);
  assert.deepEqual(shapeOf([3, 4, 32], (op, x) => op.RFFT(x)), [3, 4, 2, 17]);
  assert.deepEqual(shapeOf([2, 33], (op, x) => op.IRFFT(x)), [64]);
  assert.deepEqual(shapeOf([5, 2, 33], (op, x) => op.IRFFT(x)), [5, 64]);
  assert.deepEqual(shapeOf([5, 2, 30], (op, x) => op.Magnitude(x)), [5, 30]);
  // A mask goes to both parts.
  const masked = (op: Operators, x: Value) =>
    op.Mul(op.RFFT(x), op.Constant(new Array(17).fill(0.5)));
  assert.deepEqual(shapeOf([32], masked), [2, 17]);
});

Deno.test("lengths that kernels do not have, and what is no spectrum, are refused", () => {
  const refuses = (
    x: PortSpec,
    body: (op: Operators, x: Value) => Value,
    message: RegExp,
  ) => assert.throws(() => cellOf(x, body), message);
  const powers =
    /"c": I?RFFT of .*: there are transforms of powers of two from 32 to 65536/;
  for (const n of [16, 31, 48, 2 ** 17]) {
    refuses(row("f32", [n]), (op, x) => op.RFFT(x), powers);
  }
  refuses(row("f32", [2, 32]), (op, x) => op.IRFFT(x), powers);
  refuses(row("f32", [34]), (op, x) => op.IRFFT(x), /a spectrum is \[\.\., 2,/);
  refuses(
    row("f32", [3, 17]),
    (op, x) => op.Magnitude(x),
    /Magnitude of 3 x 17/,
  );
  refuses(image(1, 2, 17), (op, x) => op.IRFFT(x), /a spectrum is/);
  refuses(image(1, 1, 32), (op, x) => op.RFFT(x), /RFFT of an image/);
  refuses(i32(32), (op, x) => op.RFFT(x), /RFFT takes f32 rows, got i32/);
});

Deno.test("on the NPU transforms are work of the vector unit, 5 n / 2 log2 n operations", () => {
  const work = (x: PortSpec, body: (op: Operators, x: Value) => Value) =>
    cellLayers(cellOf(x, body), 3).flatMap(({ gemms, vector }) => {
      assert.deepEqual(gemms, []);
      return vector.map(({ elements, passes }) => elements * passes);
    });
  // Two signals of 256 in each of three rows.
  const operations = 2 * 3 * 256 * 2.5 * 8;
  assert.deepEqual(work(row("f32", [2, 256]), (op, x) => op.RFFT(x)), [
    operations,
  ]);
  assert.deepEqual(work(row("f32", [2, 2, 129]), (op, x) => op.IRFFT(x)), [
    operations,
  ]);
  // Two squares, their sum, a root of 4.
  assert.deepEqual(work(row("f32", [2, 9]), (op, x) => op.Magnitude(x)), [
    3 * 9 * 7,
  ]);
});
