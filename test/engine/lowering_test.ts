import assert from "node:assert/strict";
import fc from "fast-check";
import type { Cell } from "../../src/graph/cell.ts";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { evaluateNaively } from "./naive_cell.ts";
import { anyCell, onceModel } from "./random_cells.ts";

/** Beyond this f32 and doubles drift apart through Exp and Mul, rightly. */
const LARGEST = 30;
const TOLERANCE = 2e-4;

/** Runs the rows in one batch; checks them against the naive evaluation and, bit for bit, in batches of every other size. */
function check(cell: Cell, inputs: number[][][], sizes: readonly number[]) {
  const model = onceModel(cell);
  const alone = runRequests(model, inputs, { policy: serial() });
  for (const batchSizeMax of sizes) {
    const together = runRequests(model, inputs, {
      policy: merged({ batchSizeMax }),
    });
    assert.deepStrictEqual(together, alone, `batches of ${batchSizeMax}`);
  }
  inputs.forEach((rows, i) => {
    const naive = evaluateNaively(cell, rows);
    cell.outputs.forEach(({ name, dtype }, port) => {
      const got = [...alone[i][name].data];
      const expected = naive.outputs[port];
      assert.equal(got.length, expected.length);
      got.forEach((x, k) => {
        const error = Math.abs(x - expected[k]);
        const allowed = dtype === "i32"
          ? 0
          : TOLERANCE * (1 + Math.abs(expected[k]));
        assert(
          error <= allowed,
          `${name}[${k}] of row ${i} is ${x}, expected ${expected[k]}`,
        );
      });
    });
  });
}

/** The kernels that a cell's operators become. */
function kernelsOf(cell: Cell): string[] {
  return lowerCell(cell, () => 0).calls.map((call) =>
    call.call === "kernel" ? call.kernel : call.call
  );
}

const weight = tensor([3, 2], Float32Array.of(1, -1, 2, 0.5, -0.25, 3));

Deno.test("lowerCell() fuses a Gemm with the activation that alone reads it", () => {
  const fused = defineCell({
    name: "fused",
    inputs: { x: f32(2) },
    body: (op, { x }) => ({ y: op.Tanh(op.Gemm(x, weight)) }),
  });
  assert.deepEqual(kernelsOf(fused), ["gemm_f32"]);
  const readTwice = defineCell({
    name: "read twice",
    inputs: { x: f32(2) },
    body: (op, { x }) => {
      const sum = op.Gemm(x, weight);
      return { y: op.Tanh(sum), z: op.Relu(sum) };
    },
  });
  assert.deepEqual(kernelsOf(readTwice), ["gemm_f32", "tanh_f32", "relu_f32"]);
  for (const cell of [fused, readTwice]) {
    check(cell, [[[1, 2]], [[-3, 4]]], [2]);
  }
});

Deno.test("lowerCell() stores the logits of an arg-max only for others that read them", () => {
  const cell = (keep: boolean) =>
    defineCell<"x", string>({
      name: "projection",
      inputs: { x: f32(2) },
      body: (op, { x }) => {
        const logits = op.Gemm(x, weight);
        return { id: op.ArgMax(logits), ...(keep && { logits }) };
      },
    });
  for (const keep of [false, true]) {
    assert.deepEqual(kernelsOf(cell(keep)), ["projection_argmax_f32"]);
    check(cell(keep), [[[1, 2]], [[-3, 4]], [[0, 0]]], [3]);
  }
  const readBeside = defineCell({
    name: "read beside",
    inputs: { x: f32(2) },
    body: (op, { x }) => {
      const logits = op.Gemm(x, weight);
      return { id: op.ArgMax(logits), shares: op.Softmax(logits) };
    },
  });
  check(readBeside, [[[1, 2]], [[-3, 4]], [[0, 0]]], [3]);
});

Deno.test("lowerCell() reads a Concat of two as the segments of a Gemm", () => {
  const square = tensor([2, 2], Float32Array.of(1, 2, 3, 4));
  const cell = defineCell({
    name: "segments",
    inputs: { a: f32(1), b: f32(1) },
    body: (op, { a, b }) => ({ y: op.Gemm(op.Concat(a, b), square) }),
  });
  assert.deepEqual(kernelsOf(cell), ["gemm_f32"]);
  check(cell, [[[1], [2]], [[-3], [4]]], [2]);
  const projected = defineCell({
    name: "projected",
    inputs: { a: f32(1), b: f32(1) },
    body: (op, { a, b }) => ({
      id: op.ArgMax(op.Gemm(op.Concat(a, b), square)),
    }),
  });
  check(projected, [[[1], [2]], [[-3], [4]], [[5], [-6]]], [2]);
});

Deno.test("lowerCell() copies what leaves twice, comes in, or is a view of something else", () => {
  const cell = defineCell({
    name: "views",
    inputs: { x: f32(3), id: i32() },
    body: (op, { x, id }) => {
      const y = op.Relu(x);
      const row = op.Gather(weight, id);
      const part = op.Slice(x, 1, 3);
      return { y, again: y, x, part, row, id, one: op.Constant([1]) };
    },
  });
  check(cell, [[[1, -2, 3], [2]], [[-0.5, 0, 7], [0]]], [2]);
});

Deno.test("lowerCell() keeps the meaning of random cells, whatever the batch", () => {
  fc.assert(
    fc.property(
      anyCell,
      fc.integer({ min: 1, max: 11 }),
      fc.nat(1000),
      ({ cell, rows }, count, seed) => {
        const inputs = Array.from({ length: count }, (_, i) => rows(seed + i));
        for (const row of inputs) {
          const { largest, margin } = evaluateNaively(cell, row);
          fc.pre(largest < LARGEST && margin > 1e-3);
        }
        check(cell, inputs, [3, 64]);
      },
    ),
    { numRuns: propertyRuns(400) },
  );
});

Deno.test("random cells keep to what kernels assert of their operands", async () => {
  const kernels = await WebAssembly.compile(await readKernels("shoal.debug"));
  fc.assert(
    fc.property(anyCell, fc.nat(1000), ({ cell, rows }, seed) => {
      const inputs = Array.from({ length: 3 }, (_, i) => rows(seed + i));
      const model = onceModel(cell);
      const policy = merged({ batchSizeMax: 3 });
      assert.deepStrictEqual(
        runRequests(model, inputs, { policy, kernels }),
        runRequests(model, inputs),
      );
    }),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("lowerCell() copies mirrored slices of a row together", () => {
  const mirrored = (others: boolean) =>
    defineCell<"x", string>({
      name: "mirrored",
      inputs: { x: f32(8) },
      body: (op, { x }) => {
        const slices = [6, 4, 2].map((at) =>
          op.Slice(op.Reshape(x, [8]), at, at + 1)
        );
        const y = op.Concat(...slices, x, slices[0]);
        return { y, ...(others && { z: op.Neg(slices[1]) }) };
      },
    });
  const copies = ["offset", "copy_blocks", "offset", "copy_rows"];
  assert.deepEqual(kernelsOf(mirrored(false)), [
    ...copies,
    ...["offset", "copy_rows"],
  ]);
  for (const others of [false, true]) {
    check(mirrored(others), [[[1, 2, 3, 4, 5, 6, 7, 8]], [[
      ...[9, 8, 7, 6, 5, 4, 3, 2],
    ]]], [2]);
  }
  // Neither two alone nor such as are no run.
  const apart = defineCell({
    name: "apart",
    inputs: { x: f32(8), a: f32(8) },
    body: (op, { x, a }) => ({
      y: op.Concat(
        ...[5, 4, 1].map((at) => op.Slice(x, at, at + 1)),
        ...[op.Slice(a, 0, 1), op.Slice(x, 0, 2)],
      ),
    }),
  });
  assert(!kernelsOf(apart).includes("copy_blocks"));
  check(apart, [[[1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 0, 0, 0, 1]]], [2]);
});

Deno.test("lowerCell() has parts of a row written where they are put together", () => {
  const inPlace = defineCell({
    name: "in place",
    inputs: { a: f32(3), b: f32(2) },
    body: (op, { a, b }) => {
      const [tanh, neg] = [op.Tanh(a), op.Reshape(op.Neg(b), [1, 2])];
      const row = op.Concat(op.Reshape(tanh, [1, 3]), neg);
      return {
        // Leaves by another name, and is read where it lies.
        row: op.Reshape(row, [5]),
        sum: op.Add(op.Slice(row, 1, 4), tanh),
      };
    },
  });
  assert.deepEqual(kernelsOf(inPlace), [
    ...["tanh_f32", "offset", "neg_f32"],
    ...["offset", "add_f32"],
  ]);
  const copied = defineCell({
    name: "copied",
    inputs: { a: f32(3), b: f32(2) },
    body: (op, { a, b }) => {
      const [tanh, neg, left] = [op.Tanh(a), op.Neg(a), op.Neg(b)];
      return {
        // One part twice, another in two rows, one that leaves by itself, an input, and a slice.
        first: op.Concat(tanh, tanh, op.Slice(neg, 1, 3), b),
        second: op.Concat(tanh, neg, left),
        left,
      };
    },
  });
  const kernels = kernelsOf(copied);
  assert.equal(kernels.filter((kernel) => kernel === "copy_rows").length, 5);
  const alone = defineCell({
    name: "alone",
    inputs: { a: f32(3) },
    body: (op, { a }) => ({ same: op.Concat(a), neg: op.Neg(op.Concat(a)) }),
  });
  assert.deepEqual(kernelsOf(alone), ["neg_f32", "copy_rows"]);
  for (const cell of [inPlace, copied]) {
    check(cell, [[[1, -2, 3], [4, 0.5]], [[-4, 5, -6], [0, 7]]], [2]);
  }
  check(alone, [[[1, 2, 3]], [[4, 5, 6]]], [2]);
});
