import assert from "node:assert/strict";
import { accuracyOf } from "../../src/cli/accuracy.ts";
import { tensor } from "../../src/tensor/tensor.ts";

Deno.test("accuracy: errors over all elements, angles by request, largest elements by row", () => {
  const of = (...values: number[]) => ({
    y: tensor([2, 2], Float32Array.from(values)),
  });
  const found = accuracyOf({ name: "y", dtype: "f32", shape: [2, 2] }, [
    // The second row's largest is another one.
    [of(3, 0, 1, 2), of(4, 0, 2, 1)],
    [of(0, 0, 0, 0), of(0, 0, 0, 0)],
  ]);
  assert.deepEqual(found, {
    ...{ name: "y", maxError: 1, meanError: 3 / 8, largest: 4 },
    cosine: (1 + 16 / Math.sqrt(14 * 21)) / 2,
    sameArgMax: 3 / 4,
  });
});

Deno.test("accuracy: an output of single numbers has no largest element; zeros are far from anything else", () => {
  const of = (value: number) => ({ y: tensor([1], Float32Array.of(value)) });
  const found = accuracyOf({ name: "y", dtype: "f32", shape: [1] }, [
    [of(0), of(2)],
  ]);
  assert.deepEqual(found, {
    ...{ name: "y", maxError: 2, meanError: 2, largest: 2, cosine: 0 },
  });
});
