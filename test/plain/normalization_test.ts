/** Statistics of what is given. */
import assert from "node:assert/strict";
import { floats, outputsOf } from "./run_operator.ts";

Deno.test("BatchNormalization in training takes mean and variance of what it is given, and moves its own", () => {
  // Channels 1, 3, 5, 7 and 2, 2, 6, 6: means 4 and 4, variances 5 and 4.
  const x = floats([2, 2, 2], 1, 3, 2, 2, 5, 7, 6, 6);
  const [y, mean, variance] = outputsOf(
    "BatchNormalization",
    [
      x,
      floats([2], 1, 3),
      floats([2], 0, 10),
      floats([2], 8, 0),
      floats([2], 1, 2),
    ],
    { training_mode: 1, epsilon: { float: 0 }, momentum: { float: 0.75 } },
    { outputs: 3 },
  );
  const scaled = (value: number) => Math.fround((value - 4) / Math.sqrt(5));
  assert.deepEqual(
    [...y.data],
    [scaled(1), scaled(3), 7, 7, scaled(5), scaled(7), 13, 13],
  );
  assert.deepEqual([...mean.data], [7, 1]);
  assert.deepEqual([...variance.data], [2, 2.5]);
});
