/** What curves are made of, without timing: the bound, falls, options, fewer rows of a case, the table. */
import assert from "node:assert/strict";
import { boundRate, fallingRows } from "../../../bench/kernels/curve/bound.ts";
import { firstRowsOf } from "../../../bench/kernels/curve/first_rows.ts";
import { CURVE_KINDS, curveTasks } from "../../../bench/kernels/curve/kinds.ts";
import type { Curve } from "../../../bench/kernels/curve/measure.ts";
import { curveOptions } from "../../../bench/kernels/curve/options.ts";
import {
  curveHead,
  curveSummary,
  curveTable,
} from "../../../bench/kernels/curve/table.ts";
import { UsageError } from "../../../src/cli/terminal.ts";
import { floatsOf } from "../../kernels/equivalent.ts";

Deno.test("bound: 32 MiB of weights at 57 GB/s and 57 GFLOP/s", () => {
  const [n, k] = [4096, 2048];
  const bound = (rows: number) =>
    boundRate({
      count: 2 * rows * n * k,
      bytes: 4 * n * k,
      readGBps: 57,
      fullRate: 57,
    });
  // 2 m operations for 4 bytes: m / (m + 2) of the full rate.
  assert.deepEqual(
    [1, 2, 4, 8, 16].map((rows) => Math.round(bound(rows))),
    [19, 29, 38, 46, 51],
  );
});

Deno.test("bound: nothing to read leaves the arithmetic, endless arithmetic the reading", () => {
  const call = { count: 100, bytes: 400, readGBps: 40, fullRate: 50 };
  assert.equal(boundRate({ ...call, bytes: 0 }), 50);
  assert.equal(boundRate({ ...call, fullRate: Infinity }), 10);
});

Deno.test("falls: rows at which every run is slower than every run before", () => {
  const falls = (...points: [rows: number, ...runs: number[]][]) =>
    fallingRows(points.map(([rows, ...runs]) => ({ rows, runs })));
  assert.deepEqual(falls([1, 28, 29], [2, 14, 15], [4, 25, 26]), [2]);
  // Runs overlap.
  assert.deepEqual(falls([1, 28, 31], [2, 25, 29]), []);
  // Less than 2 %.
  assert.deepEqual(falls([1, 30, 31], [2, 29.5, 29.6]), []);
  // Each is compared with the one before, not with the best.
  assert.deepEqual(falls([1, 30], [2, 20], [3, 21], [4, 10]), [2, 4]);
  assert.deepEqual(falls([1, 30]), []);
});

Deno.test("options: what a curve is asked for, and what does not go together", () => {
  assert.equal(curveOptions({ only: "gemm" }), undefined);
  const { kinds, rows, weights, threads } = curveOptions({
    curve: true,
    only: "gru",
    batches: "4,1,4",
    weights: "64",
  })!;
  assert.deepEqual(kinds.map(({ name }) => name), ["gru_step_f32"]);
  assert.deepEqual({ rows, weights, threads }, {
    rows: [1, 4],
    weights: [65_536],
    threads: 1,
  });
  assert.deepEqual(
    curveOptions({ curve: true })!.rows,
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64],
  );
  for (
    const [values, message] of [
      [{ batches: "1" }, /--batches is about --curve/],
      [{ threads: "2" }, /--threads is about --curve/],
      [{ curve: true, size: "m=1" }, /--size is for kernels/],
      [{ curve: true, only: "pool" }, /No curve has "pool" in its name/],
      [{ curve: true, batches: "0" }, /each of --batches is an integer from 1/],
      [{ curve: true, weights: "8" }, /each of --weights is an integer/],
      [{ curve: true, threads: "0" }, /--threads is an integer from 1/],
    ] as const
  ) {
    assert.throws(
      () => curveOptions(values),
      (error) => error instanceof UsageError && message.test(error.message),
      JSON.stringify(values),
    );
  }
});

Deno.test("an operation's first rows: shapes and numbers of inputs, shapes of outputs", () => {
  const operation = {
    nodes: [],
    constants: [],
    inputs: [
      {
        name: "x",
        shape: [4, 2],
        data: Float32Array.from({ length: 8 }, (_, i) => i),
      },
      { name: "h", shape: [1, 4, 1], data: Float32Array.of(1, 2, 3, 4) },
    ],
    outputs: [{ name: "y", shape: [1, 4, 3], of: floatsOf("y") }],
    tolerance: 0,
  };
  const { inputs: [x, h], outputs: [y] } = firstRowsOf(operation, 4, 2);
  assert.deepEqual(x.shape, [2, 2]);
  assert.deepEqual([...x.data], [0, 1, 2, 3]);
  assert.deepEqual(h.shape, [1, 2, 1]);
  assert.deepEqual([...h.data], [1, 2]);
  assert.deepEqual(y.shape, [1, 2, 3]);
  assert.throws(() => firstRowsOf(operation, 3, 2), /is not 3 rows/);
});

for (const kind of CURVE_KINDS) {
  Deno.test(`${kind.name}: its weights have about the bytes that are asked for`, () => {
    const bytes = 262_144;
    const tasks = [...curveTasks(kind, { bytes, rows: [1, 2], seed: 1 })];
    assert.deepEqual(tasks.map(({ rows }) => rows), [1, 2]);
    for (const { weightBytes, task } of tasks) {
      const ratio = weightBytes / bytes;
      assert(0.8 < ratio && ratio < 1.25, `${task.label}: ${weightBytes}`);
    }
    const [one, two] = tasks.map(({ task }) => task.count);
    // The positions of caches are divided among the rows, weights serve each.
    assert.equal(two, kind.perRow ? one : 2 * one);
  });
}

Deno.test("a curve's text: the bounds, shares of them, where it falls", () => {
  const point = (rows: number, rate: number) => ({
    ...{ area: "a", label: "gemm_f32 m=1 n=8 k=8", unit: "GFLOP/s" as const },
    ...{ rows, intensity: 1, hashes: {}, differences: {}, timesNs: {} },
    rates: { ours: rate, peer: 10 },
    ratios: { peer: { ours: rate / 10 } },
    bounds: { ours: { kernel: 40, probe: 50 } },
  });
  const curve: Curve = {
    ...{ kind: "gemm_f32", label: "n=8 k=8", unit: "GFLOP/s" },
    weightBytes: 2 ** 25,
    threads: { ours: 1 },
    readGBps: { ours: 44 },
    fullRate: { ours: 57 },
    probeRate: { ours: 66 },
    points: [point(1, 30), point(2, 20)],
    falls: { ours: [2], peer: [] },
  };
  assert.deepEqual(curveHead(curve), [
    "gemm_f32 n=8 k=8: 32.0 MiB, GFLOP/s",
    "  1 thread: the same memory is read at 44.0 GB/s; the kernel's best here 57.0, the probe's 66.0",
  ]);
  const { columns, rows } = curveTable(curve);
  assert.deepEqual(
    columns.map(({ title }) => title),
    ["rows", "1 thread", "of bound", "by probe", "peer", "over it"],
  );
  assert.deepEqual(
    rows.map((row) => row?.map(({ text }) => text)),
    [
      ["1", "30.0", "0.75", "0.60", "10.0", "3.00x"],
      ["2", "falls 20.0", "0.50", "0.40", "10.0", "2.00x"],
    ],
  );
  assert.deepEqual(curveSummary(curve), [
    "  1 thread: at least 0.50 of the bound (2 rows); falls at 2 rows",
  ]);
});
