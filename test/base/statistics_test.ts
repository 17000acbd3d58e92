import assert from "node:assert/strict";
import fc from "fast-check";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("percentile() is the nearest rank", () => {
  const values = [15, 20, 35, 40, 50];
  assert.deepEqual(
    [0.05, 0.2, 0.3, 0.4, 0.5, 0.9, 1].map((p) => percentile(values, p)),
    [15, 15, 20, 20, 35, 50, 50],
  );
  assert.equal(percentile([7], 0.001), 7);
});

Deno.test("percentile() is the smallest value that a share p does not exceed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer(), { minLength: 1 }),
      fc.integer({ min: 1, max: 100 }),
      (values, percent) => {
        const sorted = ascending(values);
        const found = percentile(sorted, percent / 100);
        const upTo = (limit: number) =>
          sorted.filter((value) => value <= limit).length;
        // In whole numbers: 100 * count >= percent * n.
        assert(100 * upTo(found) >= percent * sorted.length);
        for (const value of sorted) {
          if (value < found) {
            assert(100 * upTo(value) < percent * sorted.length);
          }
        }
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("percentile() has no answer without values and refuses shares outside (0, 1]", () => {
  assert(Number.isNaN(percentile([], 0.5)));
  for (const p of [0, -1, 1.01, 90, NaN]) {
    assert.throws(() => percentile([1], p), {
      name: "RangeError",
      message: `A percentile is in (0, 1], got ${p}`,
    });
  }
});

Deno.test("mean() and ascending() leave their input as it is", () => {
  const values = [3, 1, 2];
  assert.equal(mean(values), 2);
  assert.deepEqual(ascending(values), Float64Array.of(1, 2, 3));
  assert.deepEqual(values, [3, 1, 2]);
  assert(Number.isNaN(mean([])));
});
