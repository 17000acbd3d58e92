/** Ids by their scores, against a list that is sorted as a whole. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { largestFirst } from "../../src/plain/largest_first.ts";
import { propertyRuns } from "../property_runs.ts";

const SCORE = fc.oneof(
  fc.float(),
  fc.float({ min: -8, max: 8 }),
  // Many in one bucket, equal ones among them.
  fc.integer({ min: 0, max: 5 }).map((i) => 16 + i / 1024),
  fc.constantFrom(
    NaN,
    -NaN,
    -0,
    0,
    Infinity,
    -Infinity,
    2 ** -149,
    -(2 ** -149),
  ),
);

Deno.test("ids come in the order of the whole list, to the last one", () => {
  let longest = 0;
  fc.assert(
    fc.property(
      // More than the first two looks take together.
      fc.array(SCORE, { maxLength: 1500, size: "max" }),
      (given) => {
        const scores = Float32Array.from(given);
        const expected = [...scores.keys()]
          .filter((id) => !Number.isNaN(scores[id]))
          .sort((a, b) =>
            scores[a] === scores[b] ? a - b : scores[a] > scores[b] ? -1 : 1
          );
        assert.deepEqual([...largestFirst(scores)], expected);
        longest = Math.max(longest, expected.length);
      },
    ),
    { numRuns: propertyRuns(150) },
  );
  assert(longest > 64 + 512, `${longest} ids at most`);
});

Deno.test("ids are of the view that is given", () => {
  const all = Float32Array.of(9, 1, 3, NaN, 2, 8);
  assert.deepEqual([...largestFirst(all.subarray(1, 5))], [1, 3, 0]);
  assert.deepEqual([...largestFirst(new Float32Array(0))], []);
});
