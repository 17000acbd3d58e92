import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { ascending, percentile } from "../../src/base/statistics.ts";
import { estimates } from "../../src/load/confidence.ts";
import {
  overMost,
  passes,
  requestsLeast,
} from "../../src/load/early_stopping.ts";
import { searchRate } from "../../src/load/search.ts";
import { grows } from "../../src/load/trend.ts";
import { propertyRuns } from "../property_runs.ts";

// mlcommons/inference, loadgen/README_EARLY_STOPPING.md and what its formula gives.
const TABLE: readonly (readonly [p: number, least: readonly number[]])[] = [
  [0.90, [44, 64, 81, 127, 197, 1246]],
  [0.97, [152, 219, 277, 433, 667, 4182]],
  [0.99, [459, 662, 838, 1307, 2010, 12571]],
];
const OVER = [0, 1, 2, 5, 10, 100];

Deno.test("early stopping takes as many requests as MLPerf's table says, and not one less", () => {
  for (const [p, least] of TABLE) {
    least.forEach((requests, k) => {
      assert.equal(requestsLeast(p, OVER[k]), requests, `p ${p}, t ${OVER[k]}`);
      assert.equal(overMost(requests, p), OVER[k]);
      assert.equal(overMost(requests - 1, p), OVER[k] - 1);
    });
  }
});

Deno.test("the most that may be over is the last that passes, at any confidence", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2000 }),
      fc.double({ min: 0.01, max: 0.999, noNaN: true }),
      fc.double({ min: 0.001, max: 0.999, noNaN: true }),
      (requests, p, confidence) => {
        let most = -1;
        while (passes(requests, most + 1, p, confidence)) most++;
        assert.equal(overMost(requests, p, confidence), most);
      },
    ),
    { numRuns: propertyRuns(50) },
  );
});

Deno.test("early stopping counts millions of requests", () => {
  const most = overMost(5_000_000, 0.99);
  // Some 2.33 standard deviations below one in a hundred.
  assert(Math.abs(most - (50_000 - 2.33 * Math.sqrt(49_500))) < 10, `${most}`);
  assert(passes(5_000_000, most, 0.99) && !passes(5_000_000, most + 1, 0.99));
});

Deno.test("an estimate is the percentile, within its interval", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1e9 }), {
        minLength: 500,
        maxLength: 900,
      }),
      (values) => {
        const found = estimates(values, [0.5, 0.9, 0.99]);
        for (const { share, ns, lowNs, highNs } of found) {
          assert.equal(ns, percentile(ascending(values), share));
          assert(
            lowNs <= ns && (ns <= highNs || Number.isNaN(highNs)),
            `${share}: ${lowNs} ${ns} ${highNs}`,
          );
        }
      },
    ),
    { numRuns: propertyRuns(20) },
  );
});

Deno.test("no estimate is given of a percentile that nothing is known of", () => {
  const known = (count: number) =>
    estimates(Array.from({ length: count }, (_, i) => i)).map(({ ns }) =>
      Number.isFinite(ns)
    );
  assert.deepEqual(known(0), [false, false, false, false]);
  assert.deepEqual(known(43), [true, false, false, false]);
  assert.deepEqual(known(458), [true, true, false, false]);
  assert.deepEqual(known(459), [true, true, true, false]);
  assert.deepEqual(known(4603), [true, true, true, true]);
});

Deno.test("latencies that come in waves have wider intervals than the same ones shuffled", () => {
  const prng = new Prng(5);
  const waves = Array.from(
    { length: 4000 },
    (_, i) => 1e6 * (2 + Math.sin(i / 300)) + 1e5 * prng.float(),
  );
  const shuffled = waves.map((value) => ({ value, at: prng.float() }))
    .sort((a, b) => a.at - b.at).map(({ value }) => value);
  const width = (values: readonly number[]) => {
    const [{ lowNs, highNs }] = estimates(values, [0.5]);
    return highNs - lowNs;
  };
  assert(width(waves) > 3 * width(shuffled));
});

Deno.test("the ends of an interval are values, and none where there are too few", () => {
  const values = Array.from({ length: 100 }, (_, i) => 10 * (i + 1));
  const [middle, tail] = estimates(values, [0.5, 0.99], 0.5);
  // Of 20 blocks of five half are beyond the median as a whole: 2.093 times the root of 20 / 19 of 20 (5 / 2)^2 are 24.0
  // ranks. Beyond p99 is one value: 20 / 19 of 19 (1 / 20)^2 + (19 / 20)^2 are 1, so that it is 2.093 ranks.
  assert.deepEqual(middle, { share: 0.5, ns: 500, lowNs: 250, highNs: 750 });
  assert.deepEqual(tail, { share: 0.99, ns: 990, lowNs: 960, highNs: NaN });
  const few = estimates(values.slice(0, 19), [0.5]);
  assert.deepEqual(few, [{ share: 0.5, ns: 100, lowNs: NaN, highNs: NaN }]);
});

/** How many of 200 intervals hold a percentile of what takes one unit of time on average. */
function covered(
  share: number,
  exactly: number,
  draw: (prng: Prng) => number[],
): number {
  let covered = 0;
  const prng = new Prng(1);
  for (let round = 0; round < 200; round++) {
    const [{ lowNs, highNs }] = estimates(draw(prng), [share]);
    if (lowNs <= exactly && !(highNs < exactly)) covered++;
  }
  return covered;
}

Deno.test("estimates cover what they are of about as often as they say", () => {
  const found = covered(
    0.9,
    Math.LN10,
    (prng) => Array.from({ length: 2000 }, () => prng.exponential(1)),
  );
  assert(found >= 180 && found < 200, `${found}`);
});

Deno.test("estimates of requests that met in a queue do, too", () => {
  // One server at half of its load, exponential times: the time in the system is exponential, with a mean of 2.
  const queue = (prng: Prng) => {
    let waits = prng.float() < 0.5 ? prng.exponential(2) : 0;
    return Array.from({ length: 1000 }, () => {
      const took = waits + prng.exponential(1);
      waits = Math.max(0, took - prng.exponential(2));
      return took;
    });
  };
  for (const [share, least] of [[0.5, 180], [0.9, 176], [0.99, 164]]) {
    const found = covered(share, -2 * Math.log(1 - share), queue);
    assert(found >= least, `p${100 * share}: ${found} of 200`);
  }
});

Deno.test("grows() sees a trend and does not see one in chance", () => {
  assert(grows(Array.from({ length: 10 }, (_, i) => i)));
  assert(!grows(Array.from({ length: 10 }, (_, i) => -i)));
  assert(!grows(new Array(30).fill(1)));
  let seen = 0;
  const prng = new Prng(1);
  for (let round = 0; round < 1000; round++) {
    if (grows(Array.from({ length: 30 }, () => prng.float()))) seen++;
  }
  // One in a hundred.
  assert(seen > 1 && seen < 25, `${seen}`);
});

Deno.test("a search ends at the greatest rate that holds, as near as it is asked", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: 1, max: 1e5, noNaN: true }),
      fc.double({ min: 1, max: 1e5, noNaN: true }),
      fc.constantFrom(1e-17, 0.02, 0.1, 0.5),
      async (capacityPerS, ratePerS, precision) => {
        const asked: number[] = [];
        const { best, isBounded, trials } = await searchRate({
          ...{ ratePerS, precision, leastPerS: 0.1, mostPerS: 1e6 },
          trial: (perS) => {
            assert(asked.push(perS) < 200, "it ends");
            return Promise.resolve({
              holds: perS <= capacityPerS,
              result: perS,
            });
          },
        });
        assert(isBounded);
        assert(best!.ratePerS <= capacityPerS);
        assert(best!.ratePerS * (1 + precision) >= capacityPerS * (1 - 1e-9));
        assert.deepEqual(trials.map(({ result }) => result), asked);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("a search without end or without beginning says so", async () => {
  const common = { ratePerS: 10, precision: 0.1, leastPerS: 1, mostPerS: 100 };
  const trial = (holds: boolean) => () =>
    Promise.resolve({ holds, result: undefined });
  const all = await searchRate({ ...common, trial: trial(true) });
  assert.equal(all.best!.ratePerS, 100);
  assert.equal(all.isBounded, false);
  const none = await searchRate({ ...common, trial: trial(false) });
  assert.equal(none.best, undefined);
  assert.deepEqual(none.trials.map(({ ratePerS }) => ratePerS), [
    ...[10, 5, 2.5, 1.25, 1],
  ]);
});
