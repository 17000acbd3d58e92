import assert from "node:assert/strict";
import { onCurve } from "../../src/base/curve.ts";

Deno.test("onCurve() is flat below the first size, linear between two, in proportion beyond the last", () => {
  const points = [[2, 100], [4, 140], [8, 400]] as const;
  assert.deepEqual(
    [1, 2, 3, 4, 5, 8, 16, 20].map((size) => onCurve(points, size)),
    [100, 100, 120, 140, 205, 400, 800, 1000],
  );
});
