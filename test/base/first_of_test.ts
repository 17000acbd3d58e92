/** The first of a list that are such, and nobody behind them is asked. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { firstOf } from "../../src/base/first_of.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("firstOf() gives what filter and slice give, and asks no further than it must", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(9)),
      fc.nat(9),
      fc.nat(9),
      (list, most, limit) => {
        const asked: number[] = [];
        const isSuch = (item: number) => item < limit;
        const found = firstOf(list, most, (item) => {
          asked.push(item);
          return isSuch(item);
        });
        assert.deepEqual(found, list.filter(isSuch).slice(0, most));
        if (found.length === most && most > 0) {
          assert.equal(asked.at(-1), found.at(-1));
        }
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});
