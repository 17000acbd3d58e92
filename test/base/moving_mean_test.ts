/** Means of what changes. */
import assert from "node:assert/strict";
import { MovingMean } from "../../src/base/moving_mean.ts";

Deno.test("a moving mean: the first values count alike, then the newest count most", () => {
  const mean = new MovingMean(0.25, 7);
  assert.equal(mean.value, 7);
  const seen = [8, 4, 0, 12, 22].map((value) => {
    mean.add(value);
    return mean.value;
  });
  // 6 + 0.25 * (22 - 6).
  assert.deepEqual(seen, [8, 6, 4, 6, 10]);
});

Deno.test("a moving mean: what is assumed counts as so many values", () => {
  const mean = new MovingMean(0.25, 6, 2);
  mean.add(12);
  assert.equal(mean.value, 8);
});
