import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { KernelCase } from "./kernel_case.ts";
import { drawSize } from "./kernel_case.ts";
import { place } from "./placement.ts";
import { COMPOSITIONS, KERNELS } from "./registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { type Build, builds, release } from "./builds.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

function numbers(
  kernelCase: KernelCase,
  name: string,
  bits: Uint32Array,
): ArrayLike<number> {
  return kernelCase.results[name].type === "f32"
    ? new Float32Array(bits.buffer)
    : new Int32Array(bits.buffer);
}

/** Runs a case and compares every result with the reference's. */
function check(
  { kernels, memory, base, name: build }: Build,
  kernelCase: KernelCase,
): void {
  const placed = place(memory, kernelCase, { base });
  placed.run(kernels);
  placed.checkUntouched();
  for (const [name, expected] of Object.entries(kernelCase.expected())) {
    const got = numbers(kernelCase, name, placed.bits(name));
    assert.equal(got.length, expected.length);
    for (let i = 0; i < got.length; ++i) {
      const error = Math.abs(got[i] - expected[i]);
      const allowed = kernelCase.tolerance * Math.max(1, Math.abs(expected[i]));
      assert.ok(
        error <= allowed || Object.is(got[i], expected[i]),
        `${build}: ${kernelCase.label}: ${name}[${i}] is ${got[i]}, expected ${
          expected[i]
        } +- ${allowed}`,
      );
    }
  }
}

for (const { name, cases } of [...KERNELS, ...COMPOSITIONS]) {
  Deno.test(`${name} agrees with the naive reference and writes its results alone`, () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const prng = new Prng(seed);
        const rows = prng.int(12) === 0 ? 121 + prng.int(5) : drawSize(prng);
        check(release, cases({ prng, rows, exact: false }));
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  Deno.test(`${name} is exact on small integers around the tile edges, in every build`, () => {
    for (const build of builds) {
      for (const rows of [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 121]) {
        const kernelCase = cases({ prng: new Prng(rows), rows, exact: true });
        check(build, kernelCase);
      }
    }
  });

  Deno.test(`${name} gives a row the same bits alone and in every batch`, () => {
    const { kernels, memory, base } = release;
    fc.assert(
      fc.property(seeds, (seed) => {
        const prng = new Prng(seed);
        const rows = 1 + prng.int(24);
        const kernelCase = cases({ prng, rows, exact: false });
        const names = Object.keys(kernelCase.results)
          .filter((name) => kernelCase.results[name].type !== "address");
        const bitsOf = (order: readonly number[]) => {
          const placed = place(memory, kernelCase, { base, order });
          placed.run(kernels);
          return names.map((name) => placed.bits(name));
        };
        const alone = Array.from({ length: rows }, (_, row) => bitsOf([row]));
        // Any rows in any order, some of them more than once.
        const order = Array.from(
          { length: 1 + prng.int(40) },
          () => prng.int(rows),
        );
        bitsOf(order).forEach((bits, result) => {
          const width = kernelCase.results[names[result]].width;
          order.forEach((row, i) =>
            assert.deepEqual(
              bits.subarray(i * width, (i + 1) * width),
              alone[row][result],
              `${kernelCase.label}: ${
                names[result]
              } of row ${row} in a batch of ${order.length}`,
            )
          );
        });
      }),
      { numRuns: propertyRuns(25) },
    );
  });
}

Deno.test("every kernel export has a line in the registry", () => {
  const registered = KERNELS.map(({ name }) => name as string);
  const exported = Object.keys(release.kernels).filter((name) =>
    !/^(shoal|npu)_|_scratch_bytes$/.test(name)
  );
  assert.deepEqual(registered.toSorted(), exported.toSorted());
});
