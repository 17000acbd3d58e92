import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { mean } from "../../src/base/statistics.ts";
import {
  ARRIVALS,
  arrivals,
  interval,
  poisson,
  stepping,
  traceReplay,
} from "../../src/workload/arrivals.ts";
import { propertyRuns } from "../property_runs.ts";

const HEADER = "t_seconds,input_tokens,output_tokens";

function gapsOf(times: readonly number[]): number[] {
  return times.map((time, i) => time - (times[i - 1] ?? 0));
}

Deno.test("poisson() has the rate asked for and gaps with a coefficient of variation of 1", () => {
  const gaps = gapsOf(poisson({ ratePerS: 250 }).timesNs(50_000, new Prng(1)));
  const average = mean(gaps);
  ok(Math.abs(average / 4e6 - 1) < 0.02, `mean gap ${average} ns`);
  const deviation = Math.sqrt(mean(gaps.map((gap) => (gap - average) ** 2)));
  ok(
    Math.abs(deviation / average - 1) < 0.02,
    `coefficient of variation ${deviation / average}`,
  );
});

Deno.test("poisson() at twice the rate is the same pattern at half the scale", () => {
  const slow = poisson({ ratePerS: 100 }).timesNs(1000, new Prng(7));
  const fast = poisson({ ratePerS: 200 }).timesNs(1000, new Prng(7));
  slow.forEach((time, i) => ok(Math.abs(time - 2 * fast[i]) <= 2));
});

Deno.test("interval() and at-once are exact", () => {
  deepEqual(interval({ ratePerS: 4 }).timesNs(4, new Prng(1)), [
    0,
    250_000_000,
    500_000_000,
    750_000_000,
  ]);
  deepEqual(arrivals("at-once").timesNs(3, new Prng(1)), [0, 0, 0]);
});

Deno.test("stepping() holds each rate for its number of requests", () => {
  const byFactor = stepping({
    startRatePerS: 10,
    factor: 2,
    every: 2,
    gaps: "interval",
  });
  deepEqual(gapsOf(byFactor.timesNs(6, new Prng(1))), [
    1e8,
    1e8,
    5e7,
    5e7,
    25e6,
    25e6,
  ]);
  const byList = stepping({ ratesPerS: [10, 100], every: 2, gaps: "interval" });
  deepEqual(gapsOf(byList.timesNs(5, new Prng(1))), [1e8, 1e8, 1e7, 1e7, 1e7]);
  const gaps = gapsOf(
    stepping({ ratesPerS: [10, 1000], every: 5000 }).timesNs(
      10_000,
      new Prng(3),
    ),
  );
  ok(Math.abs(mean(gaps.slice(0, 5000)) / 1e8 - 1) < 0.05);
  ok(Math.abs(mean(gaps.slice(5000)) / 1e6 - 1) < 0.05);
});

Deno.test("traceReplay() starts at 0 and scales the rate", () => {
  const csv = `${HEADER}\r\n1.5,10,3\r\n2,5,1\r\n2,5,1\r\n4.25,7,9\r\n`;
  const replay = traceReplay({ csv });
  equal(replay.requestsMax, 4);
  deepEqual(replay.timesNs(4, new Prng(1)), [0, 5e8, 5e8, 2_750_000_000]);
  deepEqual(traceReplay({ csv, rateScale: 2 }).timesNs(2, new Prng(1)), [
    0,
    25e7,
  ]);
  throws(
    () => replay.timesNs(5, new Prng(1)),
    /holds 4 requests, 5 were asked for/,
  );
});

Deno.test("traceReplay() names file, line and value of what is wrong", () => {
  for (
    const [lines, message] of [
      ["", /log.csv:1: expected the header/],
      [
        "time,in,out\n1,2,3",
        /log.csv:1: .*,output_tokens" or "t_seconds,count", got "time,in,out"/,
      ],
      [HEADER, /log.csv:2: expected a request/],
      [`${HEADER}\n0,1,1\n1,2`, /log.csv:3: expected 3 fields, got 2 in "1,2"/],
      [`${HEADER}\n0,1,1\n\n1,2,3`, /log.csv:3: expected 3 fields, got 1/],
      [`${HEADER}\nsoon,1,1`, /log.csv:2: t_seconds .* got "soon"/],
      [`${HEADER}\n,1,1`, /log.csv:2: t_seconds .* got ""/],
      [`${HEADER}\n-1,1,1`, /log.csv:2: t_seconds .* got "-1"/],
      [`${HEADER}\n5,1,1\n4,1,1`, /log.csv:3: t_seconds goes back from 5 to 4/],
      [`${HEADER}\n0,1.5,1`, /log.csv:2: input_tokens is a count, got "1.5"/],
      [`${HEADER}\n0,1,-2`, /log.csv:2: output_tokens is a count, got "-2"/],
    ] as const
  ) {
    throws(() => traceReplay({ csv: lines, file: "log.csv" }), message);
  }
});

Deno.test("counts of intervals are replayed as so many independent arrivals in each", () => {
  const csv = "t_seconds,count\n10,400\n20,0\n30,1200\n";
  const replay = traceReplay({ csv });
  equal(replay.requestsMax, 1600);
  const times = replay.timesNs(1600, new Prng(1));
  equal(times[0], 0);
  deepEqual(times, [...times].sort((a, b) => a - b));
  deepEqual(times, replay.timesNs(1600, new Prng(2)));
  // What came before the first request is no part of the trace: at most some tenths of a second here.
  const within = (from: number, to: number) =>
    times.filter((ns) => ns >= from * 1e9 && ns < to * 1e9).length;
  equal(within(0, 10.0), 400);
  equal(within(10.1, 19.5), 0);
  equal(within(19.5, 30), 1200);
  // Uniform within an interval: every half has about half, of which 5 standard deviations are 50 and 87.
  ok(Math.abs(within(0, 5) - 200) < 50);
  ok(Math.abs(within(19.5, 24.9) - 600) < 87);
});

Deno.test("counts say which line is wrong", () => {
  const counts = (...lines: string[]) => ["t_seconds,count", ...lines];
  for (
    const [lines, message] of [
      [counts("0,1", "5"), /log.csv:3: expected t_seconds,count, got "5"/],
      [counts("0,1", "5,1,2"), /log.csv:3: .*got "5,1,2"/],
      [counts("0,1", "5,1.5"), /log.csv:3: .*got "5,1.5"/],
      [counts("-1,1", "5,1"), /log.csv:2: .*got "-1,1"/],
      [counts("0,1", ",1"), /log.csv:3: .*got ",1"/],
      [counts("0,1", "0,1"), /log.csv:3: t_seconds does not ascend/],
      [counts("0,1"), /two intervals or more.*got 1 and 1/],
      [counts("0,0", "1,0"), /of 1 to 5000000 requests, got 2 and 0/],
      [counts("0,1", "1,9e9"), /got 2 and 9000000001/],
    ] as const
  ) {
    throws(
      () => traceReplay({ csv: lines.join("\n"), file: "log.csv" }),
      message,
    );
  }
});

Deno.test("every arrival process gives ascending integer times, equal for equal seeds", () => {
  const options: Record<string, Record<string, unknown>> = {
    poisson: { ratePerS: 3000 },
    interval: { ratePerS: 3000 },
    "at-once": {},
    trace: {
      csv: [HEADER, ...Array.from({ length: 60 }, (_, i) => `${i / 7},1,1`)]
        .join("\n"),
    },
    stepping: { startRatePerS: 66, factor: 1.3, every: 7 },
  };
  deepEqual(Object.keys(options), Object.keys(ARRIVALS));
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(ARRIVALS)),
      fc.integer(),
      fc.integer({ min: 1, max: 60 }),
      (name, seed, requests) => {
        const times = arrivals(name, options[name]).timesNs(
          requests,
          new Prng(seed),
        );
        equal(times.length, requests);
        ok(
          times.every((time, i) =>
            Number.isSafeInteger(time) && time >= (times[i - 1] ?? 0)
          ),
        );
        deepEqual(
          arrivals(name, options[name]).timesNs(requests, new Prng(seed)),
          times,
        );
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("arrivals() names what a configuration got wrong", () => {
  throws(
    () => arrivals("bursty"),
    /No arrival process "bursty"; there are poisson/,
  );
  throws(
    () => arrivals("poisson", { rate: 3 }),
    /has no option "rate"; it takes ratePerS/,
  );
  for (
    const [name, make] of [
      ["poisson", poisson],
      ["interval", interval],
      ["stepping", stepping],
      ["trace", traceReplay],
      ["at-once", (options: object) => arrivals("at-once", { ...options })],
    ] as const
  ) {
    throws(
      () => make({ rate: 3 } as never),
      new RegExp(`^TypeError: Arrival process "${name}" has no option "rate"`),
    );
  }
  throws(
    () => arrivals("poisson"),
    /"ratePerS" is a positive number, got undefined/,
  );
  throws(() => arrivals("poisson", { ratePerS: 0 }), /got 0/);
  throws(() => arrivals("stepping", { every: 5 }), /either "ratesPerS" or/);
  throws(
    () => arrivals("stepping", { every: 5, ratesPerS: [] }),
    /list of rates/,
  );
  throws(
    () => arrivals("stepping", { every: 5, ratesPerS: [1, -1] }),
    /ratesPerS\[1\]/,
  );
  throws(
    () => arrivals("stepping", { every: 2.5, ratesPerS: [1] }),
    /number of requests, got 2.5/,
  );
  throws(
    () => arrivals("stepping", { every: 5, ratesPerS: [1], gaps: "even" }),
    /"even"/,
  );
  throws(() => arrivals("trace", { csv: 5 }), /a trace is text, got number/);
});
