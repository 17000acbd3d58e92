import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { gemmQ8Case } from "./cases/q8.ts";
import { place } from "./placement.ts";
import { builds } from "./builds.ts";

// Above assembly/sweep.ts's STREAM_BYTES a single row takes another tile; groups of panels are cut short,
// and the last step of k has three numbers.
const STREAM_BYTES = 2 << 20;
const SIZE = { n: 1107, k: 2103 };

for (const [bits, seven] of [[7, true], [8, false]] as const) {
  Deno.test(`int8 sums of ${bits} bits over streaming weights are exact, in every build`, () => {
    const rows = 4;
    const kernelCase = gemmQ8Case("gemm_q8_i32").of(
      { prng: new Prng(bits), rows, exact: true },
      { ...SIZE, seven },
    );
    assert.ok(kernelCase.blocks!.w.byteLength > STREAM_BYTES);
    const expected = Int32Array.from(kernelCase.expected().c);
    for (const { name, kernels, memory, base } of builds) {
      for (const order of [[0], [3], [2, 1], [0, 1, 2], [3, 2, 1, 0]]) {
        const placed = place(memory, kernelCase, { base, order });
        placed.run(kernels);
        const got = new Int32Array(placed.bits("c").buffer);
        order.forEach((row, i) =>
          assert.deepEqual(
            got.subarray(i * SIZE.n, (i + 1) * SIZE.n),
            expected.subarray(row * SIZE.n, (row + 1) * SIZE.n),
            `${name}: row ${row} among ${order.length}`,
          )
        );
      }
    }
  });
}
