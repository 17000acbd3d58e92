/** Doubling and bisecting find what is carried. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { findCapacity } from "../../../bench/streams/capacity.ts";
import type { Trial } from "../../../bench/streams/trial.ts";
import { propertyRuns } from "../../property_runs.ts";

function trial(streams: number, late: number): Trial {
  const times = { p50Ms: 1, p99Ms: 1, p999Ms: 1 };
  return { streams, frames: 1000, late, ...times, cores: 1, mainCores: 1 };
}

Deno.test("what a machine carries is found to 6 %, and never more than that", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(5000),
      fc.constantFrom(1, 16, 40),
      fc.constantFrom(100, 4096),
      async (carries, from, most) => {
        const tried: number[] = [];
        const { streams, trials } = await findCapacity(
          (streams) => {
            tried.push(streams);
            return Promise.resolve(trial(streams, streams <= carries ? 0 : 1));
          },
          from,
          most,
        );
        const expected = Math.min(carries, most);
        assert(streams <= expected, `${streams} of ${expected}`);
        assert(expected - streams <= Math.max(1, 0.06 * streams));
        assert(tried.every((streams) => streams >= 1 && streams <= most));
        const shown = trials.map(({ streams }) => streams);
        assert.deepEqual(shown, [...shown].sort((a, b) => a - b));
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("a load that was disturbed once is tried again", async () => {
  let attempts = 0;
  const { streams } = await findCapacity(
    (streams) => {
      const isDisturbed = attempts++ % 2 === 0;
      return Promise.resolve(
        trial(streams, isDisturbed || streams > 100 ? 0.01 : 0.001),
      );
    },
    16,
    1000,
  );
  assert(streams > 93 && streams <= 100, `${streams}`);
});
