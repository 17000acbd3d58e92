import { deepEqual, equal, throws } from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { Histogram, JointHistogram } from "../../src/workload/histogram.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("Histogram reads what it encodes, for any counts", () => {
  const counts = fc.dictionary(
    fc.integer({ min: 1, max: 400 }).map(String),
    fc.integer({ min: 1, max: 5000 }),
    {
      minKeys: 1,
    },
  );
  fc.assert(
    fc.property(counts, (record) => {
      const map = new Map(
        Object.entries(record).map(([value, count]) => [Number(value), count]),
      );
      const histogram = new Histogram(Histogram.encode(map));
      deepEqual(new Map(histogram.entries()), map);
      equal(histogram.total, [...map.values()].reduce((a, b) => a + b));
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("Histogram samples each value in proportion to its count", () => {
  const histogram = new Histogram("1x10 7 9x89");
  const prng = new Prng(5);
  const seen = new Map<number, number>();
  const draws = 100_000;
  for (let i = 0; i < draws; i++) {
    const value = histogram.sample(prng);
    seen.set(value, (seen.get(value) ?? 0) + 1);
  }
  deepEqual([...seen.keys()].sort((a, b) => a - b), [1, 7, 9]);
  for (const [value, count] of histogram.entries()) {
    // Five standard deviations of a binomial count.
    const expected = draws * count / 100;
    const margin = 5 * Math.sqrt(expected);
    equal(
      Math.abs(seen.get(value)! - expected) < margin,
      true,
      `${value}: ${seen.get(value)} of ${expected}`,
    );
  }
});

Deno.test("Histogram names the entry that is not a count", () => {
  throws(() => new Histogram("3 x4"), /"x4"/);
  throws(() => new Histogram("0x3"), /"0x3"/);
  throws(() => new Histogram("4x2 4"), /4 after 4/);
  throws(() => new Histogram(""), RangeError);
});

Deno.test("JointHistogram keeps pairs together", () => {
  const pairs: [number, number][] = [[3, 4], [3, 4], [3, 9], [12, 1]];
  const joint = new JointHistogram(JointHistogram.encode(pairs));
  deepEqual([...joint.entries()], [[3, 4, 2], [3, 9, 1], [12, 1, 1]]);
  const prng = new Prng(1);
  for (let i = 0; i < 200; i++) {
    const [a, b] = joint.sample(prng);
    equal(pairs.some((pair) => pair[0] === a && pair[1] === b), true);
  }
  throws(() => joint.sampleGiven(5, prng), /starts with 5/);
});
