import { equal, ok, rejects } from "node:assert/strict";
import type { BenchResult } from "../../src/report/bench_result.ts";
import {
  modelConclusion,
  overallConclusion,
} from "../../src/report/conclusion.ts";
import { htmlReport } from "../../src/report/html_report.ts";
import { Collector } from "../../src/metrics/collector.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import {
  elements,
  labelsInside,
  linksLead,
  needsNothing,
} from "./page_checks.ts";
import { syntheticResult } from "./synthetic_result.ts";

const html = await htmlReport(syntheticResult());

Deno.test("htmlReport() is well-formed, with a chart for every figure", () => {
  const names = elements(html);
  const count = (name: string) =>
    names.filter((found) => found === name).length;
  // Per model: three percentiles, three loads twice, two batching curves.
  equal(count("figure"), 2 * (3 + 3 + 3 + 2));
  // Those and a mark in the legend per model and policy.
  equal(count("svg"), count("figure") + 6 + 4);
  equal(count("section"), 2);
});

const TRACES = syntheticResult().models.flatMap(({ points }) =>
  points.map(({ trace }) => trace!.file)
);

Deno.test("htmlReport() needs nothing but itself, and links to every trace beside it", () => {
  needsNothing(html);
  for (const [, target] of html.matchAll(/(?:href="|url\()([^")]*)/g)) {
    ok(target.startsWith("#") || TRACES.includes(target), target);
  }
  for (const file of TRACES) ok(html.includes(`<a href="${file}">`), file);
  ok(html.includes("Traces show the first 200 of 600 requests."));
  linksLead(html);
});

Deno.test("htmlReport() gives each policy one colour in all charts, and both themes a value for it", () => {
  const result = syntheticResult();
  const legend = [
    ...html.matchAll(
      /<li><svg [^>]*><path [^>]*stroke="(#\d+)"[^>]*><path [^>]*><\/svg>([^<]+)<\/li>/g,
    ),
  ]
    .map(([, color, policy]) => [policy, color]);
  const colors = new Map(legend.map(([policy, color]) => [policy, color]));
  equal(
    legend.length,
    result.models.reduce(
      (sum, model) => sum + Object.keys(model.peaksPerS).length,
      0,
    ),
  );
  for (const [policy, color] of legend) equal(color, colors.get(policy));
  equal(new Set(colors.values()).size, colors.size);
  for (
    const color of new Set(
      [...html.matchAll(/(?:fill|stroke)="(#0000\d\d|#0001\d\d)"/g)].map((
        [, found],
      ) => found),
    )
  ) {
    equal(
      html.split(`--c${color.slice(1)}:`).length - 1,
      2,
      `${color} has a light and a dark value`,
    );
    ok(html.includes(`svg [fill="${color}"]{fill:var(--c${color.slice(1)})}`));
  }
});

Deno.test("htmlReport() shows machine, seed, command, sizes, policies and loads, escaped", () => {
  for (
    const text of [
      "Synthetic &lt;CPU&gt; &amp; co",
      "deno task bench --seed 42",
      "<dt>seed</dt><dd>42</dd>",
      "<dt>hidden</dt><dd>256</dd>",
      "<dt>vocabulary</dt><dd>5000</dd>",
      "europarl-v7.de-en, poisson",
      "window 0, at most 64 requests",
      "Latency CDF, medium load",
      "p90/graph",
      "p90/merged",
      "made-up",
    ]
  ) ok(html.includes(text), text);
  ok(!/NaN|Infinity|undefined|null/.test(html));
});

Deno.test("htmlReport() is the same for the same result, also after a way through JSON", async () => {
  equal(await htmlReport(syntheticResult()), html);
  equal(
    await htmlReport(
      JSON.parse(JSON.stringify(syntheticResult())) as BenchResult,
    ),
    html,
  );
});

Deno.test("htmlReport() bears runs in which nothing was done", async () => {
  const result = syntheticResult(10);
  const [first] = result.models;
  const empty = { ...first.points[0], metrics: summarize(new Collector()) };
  for (const points of [[empty], [empty, ...first.points.slice(1)]]) {
    const text = await htmlReport(
      JSON.parse(
        JSON.stringify({ ...result, models: [{ ...first, points }] }),
      ),
    );
    elements(text);
    ok(!/NaN|Infinity|undefined|null/.test(text));
  }
});

Deno.test("htmlReport() begins with what it comes to, overall and for each model, and the figures of all", () => {
  const { models } = syntheticResult();
  const header = html.slice(0, html.indexOf("</header>"));
  ok(header.includes(`<p class="conclusion">${overallConclusion(models)}`));
  ok(header.includes("<h2>All models</h2>"));
  for (const model of models) {
    const [section] = html.slice(html.indexOf(`<h2>${model.name}</h2>`)).split(
      "<h3>",
    );
    ok(section.includes(modelConclusion(model)), model.name);
  }
});

Deno.test("htmlReport() says what every column means", () => {
  for (const kind of ["due/s", "p90 spread", "p90/NAME", "trace", "set up"]) {
    ok(html.includes(`<dt>${kind}</dt><dd>`), kind);
  }
});

Deno.test("no label of a chart leaves it, however large the figures", async () => {
  const result = syntheticResult();
  const times = 1e5;
  const models = result.models.map((model) => ({
    ...model,
    points: model.points.map((point) => ({
      ...point,
      metrics: {
        ...point.metrics,
        throughputPerS: times * point.metrics.throughputPerS,
        latency: {
          meanNs: times * point.metrics.latency.meanNs,
          p50Ns: times * point.metrics.latency.p50Ns,
          p90Ns: times * point.metrics.latency.p90Ns,
          p99Ns: times * point.metrics.latency.p99Ns,
          maxNs: times * point.metrics.latency.maxNs,
        },
        latencyQuantilesNs: point.metrics.latencyQuantilesNs.map((ns) =>
          times * ns
        ),
      },
    })),
    batchCurves: model.batchCurves?.map(({ cell, points }) => ({
      cell,
      points: points.map(({ rows, rowsPerS }) => ({
        rows,
        rowsPerS: times * rowsPerS,
      })),
    })),
  }));
  for (const text of [html, await htmlReport({ ...result, models })]) {
    ok(labelsInside(text) > 100);
  }
});

Deno.test("htmlReport() refuses a result without points", async () => {
  await rejects(
    htmlReport({ ...syntheticResult(10), models: [] }),
    /at least one measured point/,
  );
});
