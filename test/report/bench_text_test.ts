/** What `shoal bench` prints: it fits terminals, and says what it means. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { BenchPoint, BenchResult } from "../../src/report/bench_result.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { MODELS } from "../../src/models/registry.ts";
import {
  benchTable,
  curvesTable,
  metricsTable,
  overviewTable,
  peaksTable,
} from "../../src/report/bench_table.ts";
import { benchText } from "../../src/report/bench_text.ts";
import { LINE_MAX, wrap } from "../../src/report/wrap.ts";
import { syntheticResult } from "./synthetic_result.ts";

const OPTIONS = { color: false, folder: "build/bench" };

/** Every policy and model of the registries and names twice as long, with figures as long as they get. */
function longResult(): BenchResult {
  const result = syntheticResult(5000);
  const [model] = result.models;
  const policies = [...Object.keys(POLICIES), "a-policy-of-twice-that-length"];
  const models = [...Object.keys(MODELS), "a-model-of-an-even-longer-name"];
  const slow = (point: BenchPoint, policy: string): BenchPoint => {
    const { metrics } = point;
    const ns = (value: number) => value * 1e7;
    return {
      ...point,
      policy,
      offeredPerS: 123_456.7,
      metrics: {
        ...metrics,
        throughputPerS: 1_234_567.8,
        latency: {
          meanNs: ns(metrics.latency.meanNs),
          p50Ns: ns(metrics.latency.p50Ns),
          p90Ns: ns(metrics.latency.p90Ns),
          p99Ns: ns(metrics.latency.p99Ns),
          maxNs: ns(metrics.latency.maxNs),
        },
        p90OfFifthsNs: metrics.p90OfFifthsNs.map(ns),
      },
    };
  };
  return {
    ...result,
    command: `shoal bench --out ${"/a/long/path".repeat(20)} --policy all`,
    models: models.map((name) => ({
      ...model,
      name,
      peaksPerS: Object.fromEntries(policies.map((policy) => [policy, 1e6])),
      points: model.points.slice(0, 3 * policies.length).flatMap((point) =>
        policies.map((policy) => slow(point, policy))
      ),
      batchCurves: Array.from({ length: 8 }, (_, i) => ({
        cell: `${name}_cell_${i}`,
        points: [1, 2, 4, 8, 16, 32, 64, 128, 4096].map((rows) => ({
          rows,
          rowsPerS: 12_345_678 * rows,
        })),
      })),
    })),
  };
}

Deno.test("no line of the bench is longer than a terminal, with all policies and models", () => {
  const long = longResult();
  for (const result of [long, syntheticResult(), syntheticResult(10)]) {
    const text = benchText(result, OPTIONS);
    for (const line of text.split("\n")) {
      ok(line.length <= LINE_MAX, `${line.length} characters: ${line}`);
    }
    for (const { name, peaksPerS } of result.models) {
      for (const word of [name, ...Object.keys(peaksPerS)]) {
        ok(text.includes(word), word);
      }
    }
  }
});

Deno.test("every column of every table has a meaning, printed once below them", () => {
  const { models } = syntheticResult();
  const tables = models.flatMap((model) => [
    benchTable(model, { traces: true }),
    metricsTable(model.points),
    peaksTable(model, { setUp: true }),
    curvesTable(model.batchCurves ?? []),
    overviewTable(models),
  ]);
  for (const { title, meaning } of tables.flatMap(({ columns }) => columns)) {
    ok(meaning, title);
  }
  const text = benchText(syntheticResult(), OPTIONS);
  const lastFigures = text.lastIndexOf("─");
  for (
    const kind of [
      ...["load", "policy", "due/s", "done", "req/s", "p50 ms", "p90 ms"],
      ...["p99 ms", "p90 spread", "queue ms", "compute ms", "rows/task"],
      ...["pad %", "spec %", "busy %", "p90/NAME", "req/NAME", "peak req/s"],
      ...["/serial", "cell", "1, 2, ...", "MODEL", "peak"],
    ]
  ) {
    const lines = [...text.matchAll(new RegExp(`^${kind} {2,}\\w.*$`, "gm"))]
      .filter(({ index }) => index > lastFigures);
    equal(lines.length, 1, `${kind}: ${lines}`);
  }
  ok(text.includes("low 25 %, medium 60 %, high 90 % of the best policy"));
});

Deno.test("the bench prints the class of sizes and why, and how much of the runs traces show", () => {
  const text = benchText(syntheticResult(), OPTIONS);
  ok(text.includes("size medium: one thread does 30 GFLOP/s"));
  ok(
    text.includes(
      "traces: build/bench/lstm-POLICY-LOAD.trace.json, first 200 of 600 requests of each",
    ),
  );
  ok(
    benchText(syntheticResult(10), OPTIONS).includes(
      "lstm-POLICY-LOAD.trace.json, all 10 requests of each",
    ),
  );
});

Deno.test("wrap() breaks at spaces, and words that are longer than a line", () => {
  equal(wrap("as it is"), "as it is");
  const words = "word ".repeat(50).trim();
  deepEqual(
    wrap(words, "  ").split("\n").map((line) => line.length),
    [99, 96, 56],
  );
  equal(wrap(words, "  ").replaceAll("\n ", ""), words);
  const path = "x".repeat(250);
  equal(
    wrap(`at ${path}`, "  ").replace(/\n {2}/g, "|"),
    [
      "at",
      ...[98, 98, 54].map((length) => "x".repeat(length)),
    ].join("|"),
  );
});
