/** Profiles out of curves that were measured more than once. */
import assert from "node:assert/strict";
import { profileTable } from "../../src/cli/batch_curve.ts";

Deno.test("of sizes that were measured several times the fastest counts, in the order of their rows", () => {
  const point = (rows: number, ns: number) => ({
    rows,
    rowsPerS: rows / ns * 1e9,
  });
  const curves = [
    { cell: "A", points: [point(8, 900)] },
    { cell: "A", points: [point(1, 200)] },
    { cell: "B", points: [] },
    { cell: "A", points: [point(8, 400), point(1, 100)] },
    { cell: "A", points: [point(1, 150), point(8, 500)] },
  ];
  assert.deepEqual(profileTable(curves), { A: [[1, 100], [8, 400]] });
});
