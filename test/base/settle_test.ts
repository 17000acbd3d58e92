/** The first of a list are brought into order, and the others stay where they are. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { settle } from "../../src/base/settle.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("settle() sorts the first as Array.sort does, alike ones in their order, and leaves the others", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat())),
      fc.nat(20),
      (list, count) => {
        const byFirst = ([a]: [number, number], [b]: [number, number]) => a - b;
        const settled = [...list];
        settle(settled, count, byFirst);
        assert.deepEqual(settled, [
          ...list.slice(0, count).sort(byFirst),
          ...list.slice(count),
        ]);
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("settle() compares each once where all are in order", () => {
  let compared = 0;
  settle([1, 2, 3, 4, 5], 4, (a, b) => {
    compared++;
    return a - b;
  });
  assert.equal(compared, 3);
});
