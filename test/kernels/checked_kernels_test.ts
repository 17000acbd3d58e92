import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { checkCall } from "../../src/kernels/host/check_call.ts";
import { checkedKernels } from "../../src/kernels/host/checked_kernels.ts";
import { drawSize } from "./kernel_case.ts";
import { place } from "./placement.ts";
import { KERNELS } from "./registry.ts";
import { KERNEL_NAMES, KERNEL_SPECS } from "../../src/kernels/spec/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { faults, recordCalls, withFault } from "./bad_arguments.ts";
import { loadBuild, release } from "./builds.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const checked = checkedKernels(release.kernels, release.memory);
const debug = loadBuild("shoal.debug.wasm");
/** Traps of the engine itself say nothing; the debug build's own say what is wrong. */
const SPEAKS = /\b(is|are|lies|ends|must|do|does|has|unknown)\b/;
const MUTE = /unreachable|out of bounds|divide by zero|RuntimeError/;

Deno.test("specs have as many arguments as the exports take", () => {
  for (const name of KERNEL_NAMES) {
    const { parameters } = KERNEL_SPECS[name];
    assert.equal(parameters.length, release.kernels[name].length, name);
  }
});

for (const { name, cases } of KERNELS) {
  Deno.test(`${name} behind checks takes every sound call and gives the same bits`, () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const prng = new Prng(seed);
        const kernelCase = cases({ prng, rows: drawSize(prng), exact: false });
        const { memory, base, kernels } = release;
        const [expected, got] = [kernels, checked].map((exports) => {
          const placed = place(memory, kernelCase, { base });
          placed.run(exports);
          return Object.entries(kernelCase.results)
            .filter(([, { type }]) => type !== "address")
            .map(([result]) => placed.bits(result));
        });
        assert.deepEqual(got, expected, kernelCase.label);
      }),
      { numRuns: propertyRuns(10) },
    );
  });

  Deno.test(`${name} refuses every kind of bad argument, and so does the debug build`, () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const prng = new Prng(seed);
        const kernelCase = cases({
          prng,
          rows: 1 + prng.int(5),
          exact: false,
        });
        for (const build of [release, debug]) {
          const { kernels, memory } = build;
          for (const call of recordCalls(build, kernelCase)) {
            for (const fault of faults(call, memory, prng)) {
              const where = `${call.kernel}(${call.args}): ${fault.what}`;
              const { kernel } = call;
              if (build === release) {
                assert.throws(
                  () =>
                    withFault(
                      fault,
                      memory,
                      () => checkCall(kernel, fault.args, { kernels, memory }),
                    ),
                  (error: Error) =>
                    error instanceof RangeError &&
                    error.message.startsWith(`${kernel}: `),
                  where,
                );
              } else if (fault.debugSees) {
                const run = kernels[kernel] as (...args: number[]) => unknown;
                assert.throws(
                  () => withFault(fault, memory, () => run(...fault.args)),
                  (error: Error) =>
                    SPEAKS.test(error.message) && !MUTE.test(error.message),
                  where,
                );
              }
            }
          }
        }
      }),
      { numRuns: propertyRuns(8) },
    );
  });
}
