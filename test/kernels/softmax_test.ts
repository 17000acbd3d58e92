import assert from "node:assert/strict";
import { softmax } from "./reference/rows.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { release } from "./builds.ts";
import { ulpError } from "./ulp.ts";

function run(row: readonly number[]): Float32Array {
  const host = new KernelHost(release.kernels, release.memory);
  const rows = host.rows(1, row.length, Float32Array.from(row));
  host.call("softmax_rows_f32", { n: row.length, aRows: rows, outRows: rows });
  return host.read(rows);
}

Deno.test("softmax_rows_f32: masked elements are 0, and powers below 2^-126 too", () => {
  for (let n = 2; n < 40; ++n) {
    const row = Array.from({ length: n }, (_, i) => i % 3 ? -Infinity : -i);
    const got = run(row);
    got.forEach((value, i) => {
      if (i % 3) assert.equal(value, 0);
      else assert.ok(value > 0);
    });
  }
  const far = run([0, -87.3, -87.4, -1e30, -89, 0, 0, 0, 0]);
  assert.ok(far[1] > 0);
  for (const i of [2, 3, 4]) assert.equal(far[i], 0);
});

Deno.test("softmax_rows_f32: a NaN, an infinity or nothing but masks give NaN", () => {
  for (const row of [[1, NaN, 2], [1, Infinity], [-Infinity, -Infinity]]) {
    assert.ok(run(row).some(Number.isNaN), `${row}`);
  }
});

Deno.test("softmax_rows_f32 is within 4 ulp of float64 for 19 elements over its range", () => {
  for (let step = 0; step <= 4000; ++step) {
    const low = -80 * step / 4000;
    const row = [0, low, low / 2, low / 3, -1, low / 5, -0.25, low / 7]
      .map(Math.fround);
    // Twice and a half: rows go by sixteens, fours and the rest.
    row.push(...row, ...row.slice(0, 3));
    const expected = softmax(row);
    run(row).forEach((value, i) => {
      const error = ulpError(value, expected[i]);
      assert.ok(error <= 4, `${row}: element ${i} is off by ${error} ulp`);
    });
  }
});
