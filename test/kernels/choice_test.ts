/** Choices with NaN, infinities and ties in every place, which drawn rows hardly ever have. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { argmax } from "./reference/rows.ts";
import { release } from "./builds.ts";

const VALUES = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 2, 2, 3];

function rowsOf(seed: number): { n: number; row: Float32Array } {
  const prng = new Prng(seed);
  const n = 1 + prng.int(70);
  const row = Float32Array.from(
    { length: n },
    () => VALUES[prng.int(VALUES.length)],
  );
  return { n, row };
}

Deno.test("argmax_rows_f32 passes over NaN and takes the first of equals", () => {
  const host = new KernelHost(release.kernels, release.memory);
  for (let seed = 0; seed < 2000; ++seed) {
    host.reset();
    const { n, row } = rowsOf(seed);
    const id = host.rows(1, 1, "i32");
    host.call("argmax_rows_f32", {
      ...{ n, aRows: host.rows(1, n, row), idOutRows: id },
    });
    assert.equal(host.read(id)[0], argmax(row), `[${row}]`);
  }
});

Deno.test("topk_rows_f32 puts NaN last and the first of equals first", () => {
  const host = new KernelHost(release.kernels, release.memory);
  for (let seed = 0; seed < 2000; ++seed) {
    host.reset();
    const { n, row } = rowsOf(seed);
    const k = 1 + seed % n;
    const largest = seed % 2 === 0;
    const [values, ids] = [host.rows(1, k, "f32"), host.rows(1, k, "i32")];
    host.call("topk_rows_f32", {
      ...{ n, k, largest: largest ? "yes" : "no" },
      ...{ aRows: host.rows(1, n, row), valueRows: values, idRows: ids },
    });
    const order = Array.from(row, (_, i) => i).toSorted((i, j) => {
      const [a, b] = [row[i], row[j]];
      if (Number.isNaN(a) || Number.isNaN(b)) {
        return Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || i - j;
      }
      if (a === b) return i - j;
      return (a > b) === largest ? -1 : 1;
    }).slice(0, k);
    assert.deepEqual([...host.read(ids)], order, `k=${k} [${row}]`);
    assert.deepEqual([...host.read(values)], order.map((i) => row[i]));
  }
});
