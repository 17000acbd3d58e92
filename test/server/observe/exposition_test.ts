import assert from "node:assert/strict";
import fc from "fast-check";
import {
  CounterFamily,
  exposition,
  GaugeFamily,
  Histogram,
  HistogramFamily,
} from "../../../src/server/observe/exposition.ts";
import { propertyRuns } from "../../property_runs.ts";

Deno.test("families are written as the format has them", () => {
  const counter = new CounterFamily("a_total", 'Counts "a\\b\nc".');
  counter.with({ model: 'm"\\\n', version: "1" }).add(2);
  counter.with({ model: "n", version: "1" }).add(0.5);
  const gauge = new GaugeFamily("b", "Now.");
  gauge.with().value = -Infinity;
  const histogram = new HistogramFamily("c_seconds", "Time.", [0.1, 1]);
  for (const value of [0.1, 0.05, 0.5, 7]) {
    histogram.with({ m: "x" }).observe(value);
  }
  assert.equal(
    exposition([counter, gauge, histogram, new GaugeFamily("d", "None.")]),
    `# HELP a_total Counts "a\\\\b\\nc".
# TYPE a_total counter
a_total{model="m\\"\\\\\\n",version="1"} 2
a_total{model="n",version="1"} 0.5
# HELP b Now.
# TYPE b gauge
b -Inf
# HELP c_seconds Time.
# TYPE c_seconds histogram
c_seconds_bucket{m="x",le="0.1"} 2
c_seconds_bucket{m="x",le="1"} 3
c_seconds_bucket{m="x",le="+Inf"} 4
c_seconds_sum{m="x"} 7.65
c_seconds_count{m="x"} 4
# HELP d None.
# TYPE d gauge
`,
  );
});

Deno.test("a histogram's buckets hold what is at most their bounds", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 1 }),
      fc.array(fc.integer({ min: -5, max: 60 })),
      (bounds, values) => {
        bounds.sort((a, b) => a - b);
        const histogram = new Histogram(bounds);
        for (const value of values) histogram.observe(value);
        let below = 0;
        bounds.forEach((bound, i) => {
          below += histogram.counts[i];
          const atMost = values.filter((value) => value <= bound).length;
          assert.equal(below, atMost, `at most ${bound}`);
        });
        assert.equal(histogram.count, values.length);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});
