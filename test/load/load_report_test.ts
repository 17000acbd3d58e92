/** The charts of a load's report. */
import assert from "node:assert/strict";
import { loadCharts } from "../../src/load/load_report.ts";
import { latencyTable } from "../../src/load/load_text.ts";
import { policyStyles } from "../../src/report/palette.ts";
import { virtualRun } from "./run_load.ts";

const STYLES = policyStyles([
  ...["scheduled", "completed", "refused", "failed", "p50", "p99", "target"],
]);

/** Names of the lines of one point, and of all lines that have markers, of every chart. */
async function markedLines(seconds: number) {
  const { result } = await virtualRun({
    ratePerS: 1,
    seconds,
    serve: () => ({ tookNs: 3e6 }),
  });
  const lines = loadCharts(result, STYLES).flatMap(({ title, option }) =>
    (option["series"] as {
      name: string;
      data: unknown[];
      showSymbol: boolean;
    }[]).map((line) => ({ ...line, of: `${line.name} of ${title}` }))
  );
  return {
    points: lines.filter(({ data }) => data.length === 1).map(({ of }) => of),
    marked: lines.filter(({ showSymbol }) => showSymbol).map(({ of }) => of),
  };
}

Deno.test("a run of one request is seen, though its lines have no length", async () => {
  const { points, marked } = await markedLines(1);
  assert.deepEqual(points, [
    "p50 of Latency over time",
    "p99 of Latency over time",
    "completed of Latency CDF",
  ]);
  assert.deepEqual(marked, points);
  assert.deepEqual(await markedLines(10), { points: [], marked: [] });
});

Deno.test("an end of an interval that lies beyond all requests is told as unknown", async () => {
  // In order of arrival the k-th of 1,000 takes k times 10 us: those beyond a percentile are in the last blocks.
  const { result } = await virtualRun({
    serve: (nth) => ({ tookNs: (nth + 1) * 1e4 }),
  });
  const [, intervals] = latencyTable(result).rows;
  assert.deepEqual(intervals!.map(({ text }) => text), [
    "  95 % confidence",
    "2.59..7.41",
    "7.55..?",
    "9.69..?",
    "–",
    "",
  ]);
});
