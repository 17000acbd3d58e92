import { deepEqual, equal } from "node:assert/strict";
import {
  batchCharts,
  cdfCharts,
  latencyCharts,
} from "../../src/report/charts.ts";
import { policyStyles } from "../../src/report/palette.ts";
import type { Chart } from "../../src/report/svg_chart.ts";
import { syntheticResult } from "./synthetic_result.ts";

const [MODEL] = syntheticResult().models;
const STYLES = policyStyles(Object.keys(MODEL.peaksPerS));

/** What a chart draws of a policy. */
function drawn({ option }: Chart, policy: string): readonly unknown[] {
  const series = option["series"] as { name: string; data: unknown[] }[];
  return series.find(({ name }) => name === policy)!.data;
}

Deno.test("a line of latencies goes from the lowest load to the highest, however the points lie", () => {
  const points = [...MODEL.points].reverse();
  const [p50] = latencyCharts({ ...MODEL, points }, STYLES);
  const own = MODEL.points.filter(({ policy }) => policy === "late");
  deepEqual(
    drawn(p50, "late"),
    own.map(({ metrics }) => [
      metrics.throughputPerS,
      metrics.latency.p50Ns / 1e6,
    ]),
  );
});

Deno.test("a distribution ends at all requests, and shares of rows sum to all rows", () => {
  const [low] = cdfCharts(MODEL, STYLES);
  const shares = drawn(low, "graph") as [number, number][];
  const { latencyQuantilesNs } =
    MODEL.points.find(({ policy, loadName }) =>
      policy === "graph" && loadName === "low"
    )!.metrics;
  equal(shares.length, latencyQuantilesNs.length);
  deepEqual(shares.at(-1), [latencyQuantilesNs.at(-1)! / 1e6, 100]);
  const [batches] = batchCharts(MODEL, STYLES);
  const sum = (drawn(batches, "graph") as number[]).reduce((a, b) => a + b);
  equal(sum.toFixed(6), "100.000000");
});

Deno.test("a row of a batch counts in the bin that its size is up to", () => {
  const [point] = MODEL.points;
  const batch = {
    ...point.metrics.batch,
    histogram: [[1, 4], [3, 4], [4, 1]] as [number, number][],
  };
  const points = [{ ...point, metrics: { ...point.metrics, batch } }];
  const [chart] = batchCharts({ ...MODEL, points }, STYLES);
  // 4 rows alone, and 12 + 4 in batches of up to four, of 20.
  deepEqual(drawn(chart, point.policy), [20, 0, 80]);
});

Deno.test("a single latency is seen, though its line has no length", () => {
  const markers = (requests: number) => {
    const [{ option }] = cdfCharts(syntheticResult(requests).models[0], STYLES);
    return (option["series"] as { showSymbol: boolean }[])
      .map(({ showSymbol }) => showSymbol);
  };
  deepEqual(markers(1), markers(1).map(() => true));
  deepEqual(markers(2), markers(2).map(() => false));
});
