import assert from "node:assert/strict";
import fc from "fast-check";
import { LeastSquares } from "../../src/base/least_squares.ts";
import { propertyRuns } from "../property_runs.ts";

const numRuns = propertyRuns(100);

Deno.test("exact lines are found, whatever their units", () => {
  const coefficient = fc.double({ min: 0.01, max: 1e6, noNaN: true });
  const sizes = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), {
    minLength: 20,
    maxLength: 60,
  });
  fc.assert(
    fc.property(coefficient, coefficient, sizes, (a, b, sizes) => {
      const fit = new LeastSquares([0, 0], 0.995);
      for (const size of sizes) fit.observe([1, size], a + b * size, 0);
      const largest = a + b * Math.max(...sizes);
      for (const size of sizes) {
        const expected = a + b * size;
        // The ridge, which is worth a fraction of an observation, is all that stands between.
        const off = Math.abs(fit.expect([1, size]) - expected);
        assert(off < 0.02 * largest, `${fit.expect([1, size])}, ${expected}`);
      }
    }),
    { numRuns },
  );
});

Deno.test("what is expected is finite and not negative, whatever was seen", () => {
  const figure = fc.double({ min: 0, max: 1e12, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(figure, figure, figure, figure), { maxLength: 40 }),
      figure,
      (seen, asked) => {
        const fit = new LeastSquares([0, 0, 1], 0.995);
        seen.forEach(([a, b, outcome, atNs]) =>
          fit.observe([1, a, b], outcome, atNs)
        );
        const expected = fit.expect([1, asked, asked]);
        assert(Number.isFinite(expected) && expected >= 0, `${expected}`);
        assert(fit.coefficients().every((c) => c >= 0));
      },
    ),
    { numRuns },
  );
});

Deno.test("figures that always came together share the credit, and one that never came keeps what is assumed", () => {
  const fit = new LeastSquares([0, 0, 7], 0.995);
  for (let i = 0; i < 50; i++) fit.observe([1, 10, 0], 30, 0);
  assert(Math.abs(fit.expect([1, 10, 0]) - 30) < 0.5);
  assert.equal(fit.coefficients()[2], 7);
});

Deno.test("what was seen weighs less with every observation and with time", () => {
  const byCount = new LeastSquares([0], 0.995);
  for (let i = 0; i < 1000; i++) byCount.observe([1], 100, 0);
  for (let i = 0; i < 1000; i++) byCount.observe([1], 10, 0);
  assert(byCount.expect([1]) < 12, `${byCount.expect([1])}`);
  const byTime = new LeastSquares([0], 0.995);
  for (let i = 0; i < 1000; i++) byTime.observe([1], 100, 0);
  for (let i = 0; i < 5; i++) byTime.observe([1], 10, 300e9 + i);
  assert(byTime.expect([1]) < 12, `${byTime.expect([1])}`);
});
