import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { gemmQ8Case } from "./cases/q8.ts";
import { gruQ8Case, lstmQ8Case } from "./cases/q8_cells.ts";
import { place } from "./placement.ts";
import { type Build, builds, release } from "./builds.ts";

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

// assembly/q8_sweep.ts packs as many rows at once as scratch memory holds: four of these, or two in both parts.
for (const [bits, seven] of [[7, true], [8, false]] as const) {
  Deno.test(`int8 sums of ${bits} bits over a large k are exact, in every build`, () => {
    const kernelCase = gemmQ8Case("gemm_q8_i32").of(
      { prng: new Prng(bits), rows: 7, exact: true },
      { n: 11, k: 60_003, seven },
    );
    const expected = Int32Array.from(kernelCase.expected().c);
    for (const { name, kernels, memory, base } of builds) {
      const placed = place(memory, kernelCase, { base });
      placed.run(kernels);
      placed.checkUntouched();
      const got = new Int32Array(placed.bits("c").buffer);
      assert.deepEqual(got, expected, name);
    }
  });
}

for (
  const [name, family] of [["lstm", lstmQ8Case], ["gru", gruQ8Case]] as const
) {
  for (const seven of [true, false]) {
    Deno.test(`int8 ${name} steps of ${seven ? 7 : 8} bits over streaming weights have the same bits in every batch, variant and build of deterministic floats`, () => {
      const rows = 123;
      const kernelCase = family.of(
        { prng: new Prng(7), rows, exact: false },
        { hidden: 601, inputSize: 587, seven },
      );
      assert.ok(kernelCase.blocks!.w.byteLength > STREAM_BYTES);
      const run = ({ memory, base, kernels }: Build, order: number[]) => {
        const placed = place(memory, kernelCase, { base, order });
        placed.run(kernels);
        return new Int32Array(placed.bits("hOut").buffer);
      };
      const all = Array.from({ length: rows }, (_, i) => i);
      const expected = run(release, all);
      for (const build of builds.filter(hasDeterministicFloats)) {
        for (const order of [[5], [122, 5], [1, 2, 5], all.toReversed()]) {
          const got = run(build, order);
          const width = got.length / order.length;
          order.forEach((row, i) =>
            assert.deepEqual(
              got.subarray(i * width, (i + 1) * width),
              expected.subarray(row * width, (row + 1) * width),
              `${build.name}: row ${row} among ${order.length}`,
            )
          );
        }
      }
    });
  }
}

function hasDeterministicFloats({ name }: Build): boolean {
  return !name.includes("relaxed");
}
