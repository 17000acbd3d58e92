import { deepEqual, equal, ok } from "node:assert/strict";
import type { Metrics } from "../../src/metrics/metrics.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import { Collector } from "../../src/metrics/collector.ts";
import type { ModelResult } from "../../src/report/bench_result.ts";
import {
  modelConclusion,
  overallConclusion,
} from "../../src/report/conclusion.ts";

const NOTHING = summarize(new Collector());

/** A run with this p90, and those of its fifths, in milliseconds. */
function run(
  p90Ms: number,
  fifthsMs: readonly number[],
  done = 1000,
): Metrics {
  return {
    ...NOTHING,
    requests: { ...NOTHING.requests, done },
    latency: { ...NOTHING.latency, p90Ns: p90Ms * 1e6 },
    p90OfFifthsNs: fifthsMs.map((ms) => ms * 1e6),
  };
}

function model(
  name: string,
  runs: Readonly<Record<string, Readonly<Record<string, Metrics>>>>,
  peaksPerS: Readonly<Record<string, number>>,
): ModelResult {
  return {
    ...{ name, sizes: {}, workload: "", workers: 1, serialCapacityPerS: 1 },
    peaksPerS,
    points: Object.entries(runs).flatMap(([loadName, byPolicy]) =>
      Object.entries(byPolicy).map(([policy, metrics]) => ({
        ...{ policy, loadName, offeredPerS: 1, metrics },
      }))
    ),
  };
}

const FLAT = (ms: number) => run(ms, [ms, ms, ms, ms, ms]);

Deno.test("a model's conclusion names who is first at each load, by how much, and whether by chance", () => {
  const lstm = model("lstm", {
    low: { graph: FLAT(4), cellular: FLAT(2), late: FLAT(3) },
    // Lower in all, but not in every fifth.
    medium: {
      graph: run(9, [9, 9, 9, 9, 4]),
      cellular: run(5, [5, 5, 5, 5, 5]),
    },
    // Lower in every fifth, by a twentieth.
    high: { graph: FLAT(20), cellular: FLAT(21) },
  }, { graph: 100, cellular: 150 });
  equal(
    modelConclusion(lstm),
    "Lowest p90: cellular at low load (2.00 ms, 1.50x ahead of late, beyond noise), " +
      "cellular at medium load (5.00 ms, 1.80x ahead of graph, within noise) and " +
      "graph at high load (20.0 ms, 1.05x ahead of cellular, within noise); " +
      "highest peak: cellular (150 requests/s, 1.50x ahead of graph, beyond noise).",
  );
});

Deno.test("of several rounds it is in each of them that the better one has to be lower", () => {
  const said = (roundsMs: readonly number[]) => {
    const { points, ...rest } = model("a", {
      low: { x: run(2, [9, 9, 9, 9, 9]), y: FLAT(4) },
    }, {});
    const [x, y] = points;
    const nsOf = (ms: number) => ms * 1e6;
    return modelConclusion({
      ...rest,
      points: [
        { ...x, p90OfRoundsNs: roundsMs.map(nsOf) },
        { ...y, p90OfRoundsNs: [4, 3, 5].map(nsOf) },
      ],
    }).match(/beyond|within/g);
  };
  deepEqual(said([2, 1, 4]), ["beyond"]);
  deepEqual(said([1, 3, 2]), ["within"]);
});

Deno.test("a run of few requests tells nothing, whatever it shows", () => {
  const few = (ms: number, done: number) => run(ms, [ms, ms, ms, ms, ms], done);
  const said = (done: number) =>
    modelConclusion(
      model("a", { low: { x: few(1, done), y: few(9, done) } }, { x: 9, y: 1 }),
    ).match(/beyond|within|too few/g);
  deepEqual(said(100), ["beyond", "beyond"]);
  deepEqual(said(99), ["too few", "too few"]);
});

Deno.test("one model's conclusion is the overall one", () => {
  const alone = model("a", { low: { x: FLAT(2), y: FLAT(3) } }, { x: 3, y: 2 });
  equal(overallConclusion([alone]), modelConclusion(alone));
});

Deno.test("the overall conclusion counts models by load", () => {
  const models = [
    model("a", { low: { x: FLAT(2), y: FLAT(3) } }, { x: 3, y: 2 }),
    model("b", { low: { x: FLAT(2), y: FLAT(8) } }, { x: 2, y: 2.1 }),
    model("c", { low: { x: FLAT(9), y: FLAT(1) } }, { x: 2, y: 4 }),
  ];
  equal(
    overallConclusion(models),
    "Over 3 models, the lowest p90 at low load is x's on 2 (the next 1.50x to 4.00x behind, beyond noise on 2) " +
      "and y's on 1 (the next 9.00x behind, beyond noise on 1); " +
      "the highest peak is y's on 2 (the next 1.05x to 2.00x behind, beyond noise on 1) " +
      "and x's on 1 (the next 1.50x behind, beyond noise on 1).",
  );
});

Deno.test("conclusions bear a single policy, and runs in which nothing was done", () => {
  const alone = model("a", { low: { x: FLAT(2) } }, { x: 3 });
  equal(
    modelConclusion(alone),
    "Lowest p90: x at low load (2.00 ms, alone); highest peak: x (3.00 requests/s, alone).",
  );
  const nothing = model("a", { low: { x: NOTHING } }, { x: NaN });
  const throughJson: ModelResult = JSON.parse(JSON.stringify(nothing));
  for (const each of [nothing, throughJson]) {
    equal(modelConclusion(each), "No request was answered.");
    equal(overallConclusion([each]), "No request was answered.");
  }
  const some = [throughJson, alone];
  ok(
    overallConclusion(some).startsWith("Over 2 models, the lowest p90 at low"),
  );
  deepEqual(overallConclusion(some).match(/NaN|undefined|null/g), null);
});
