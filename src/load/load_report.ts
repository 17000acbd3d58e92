/** A run as one HTML file without a script and without anything to load. */
import { nsToMs } from "../base/units.ts";
import {
  axis,
  frame,
  lineSeries,
  logAxis,
  type Styles,
} from "../report/chart_parts.ts";
import {
  facts,
  figure,
  htmlPage,
  htmlTable,
  legendEntry,
} from "../report/html_parts.ts";
import { policyStyles } from "../report/palette.ts";
import { styleSheet } from "../report/style_sheet.ts";
import {
  type Chart,
  type ChartRenderer,
  chartRenderer,
  escapeHtml,
} from "../report/svg_chart.ts";
import {
  conclusions,
  countsTable,
  latencyTable,
  trialsTable,
} from "./load_text.ts";
import type { LoadResult } from "./result.ts";
import type { Trial } from "./search.ts";

/** What a report shows besides the run. */
export interface LoadReport {
  readonly result: LoadResult;
  /** Names and values at the top: command, machine, seed. */
  readonly about: Readonly<Record<string, string | number>>;
  /** Trials of a search, of which `result` is the best. */
  readonly trials?: readonly Trial<LoadResult>[];
}

const LINES = [
  "scheduled",
  "completed",
  "refused",
  "failed",
  "p50",
  "p99",
  "target",
] as const;

/** @param render draws the charts; default `chartRenderer()` */
export async function loadReport(
  { result, about, trials }: LoadReport,
  render?: ChartRenderer,
): Promise<string> {
  const draw = render ?? await chartRenderer();
  const styles = policyStyles(LINES);
  const legend = [...styles].map(([name, style]) => legendEntry(name, style));
  return htmlPage({
    title: "Shoal load",
    style: styleSheet(styles),
    body: `<header>
<h1>Shoal load</h1>
${
      conclusions(result).map((text) =>
        `<p class="conclusion">${escapeHtml(text)}</p>`
      ).join("\n")
    }
${facts({ ...about, arrivals: result.arrivals, seconds: result.seconds })}
</header>
<main>
<ul class="legend">${legend.join("")}</ul>
<div class="charts">
${loadCharts(result, styles).map((chart) => figure(chart, draw)).join("\n")}
</div>
<h2>Figures</h2>
${htmlTable(countsTable(result), styles)}
${htmlTable(latencyTable(result), styles)}
${trials ? `<h2>Search</h2>\n${htmlTable(trialsTable(trials), styles)}` : ""}
<h2>Whether it is valid</h2>
${htmlTable(checksTable(result), styles)}
</main>
<footer>
<ul>
<li>Requests were sent when they were due, whatever the server did (open loop); latency counts from then.</li>
<li>Percentiles of latency are of requests completed. The target counts those refused or failed as not in time.</li>
<li>Confidence intervals: 95 %, by drawing blocks of consecutive requests anew.</li>
</ul>
</footer>`,
  });
}

function checksTable({ checks }: LoadResult) {
  return {
    columns: [
      { title: "check", align: "left" as const },
      { title: "passed", align: "left" as const },
      { title: "found", align: "left" as const },
    ],
    rows: checks.map(({ name, ok, found }) => [
      { text: name },
      {
        text: ok ? "yes" : "no",
        tone: ok ? "better" as const : "worse" as const,
      },
      { text: found },
    ]),
  };
}

/** Latency and rates over time, and the latency's distribution. */
export function loadCharts(result: LoadResult, styles: Styles): Chart[] {
  const { slices, quantilesNs, verdict } = result;
  const sloMs = verdict && nsToMs(verdict.sloNs);
  const line = (name: string, data: readonly (readonly number[])[]) => ({
    ...lineSeries(name, styles),
    // A line of one point is seen by its marker alone.
    showSymbol: data.length === 1,
    data,
  });
  const over = (value: (slice: typeof slices[number]) => number) =>
    slices.map((slice) => [slice.atS, value(slice)])
      .filter(([, value]) => Number.isFinite(value));
  const latencies = [
    ...slices.flatMap(({ p50Ns, p99Ns }) => [nsToMs(p50Ns), nsToMs(p99Ns)]),
    ...(sloMs === undefined ? [] : [sloMs]),
  ].filter(Number.isFinite);
  const charts: Chart[] = [];
  if (latencies.length > 0) {
    charts.push({
      title: "Latency over time",
      label: "latency in milliseconds of requests by when they were due",
      option: {
        ...frame(),
        xAxis: axis("seconds", "x"),
        yAxis: logAxis("ms", "y", latencies),
        series: [
          line("p50", over(({ p50Ns }) => nsToMs(p50Ns))),
          line("p99", over(({ p99Ns }) => nsToMs(p99Ns))),
          ...(sloMs === undefined ? [] : [line("target", over(() => sloMs))]),
        ],
      },
    });
  }
  charts.push({
    title: "Requests over time",
    label: "requests per second by when they were due and what became of them",
    option: {
      ...frame(),
      xAxis: axis("seconds", "x"),
      yAxis: { ...axis("requests/s", "y"), min: 0 },
      series: [
        line("scheduled", over(({ offeredPerS }) => offeredPerS)),
        line("completed", over(({ completedPerS }) => completedPerS)),
        line("refused", over(({ refusedPerS }) => refusedPerS)),
        line("failed", over(({ failedPerS }) => failedPerS)),
      ],
    },
  });
  if (quantilesNs.length > 0) {
    const points = quantilesNs.map((ns, k) => [
      nsToMs(ns),
      100 * (k + 1) / quantilesNs.length,
    ]);
    charts.push({
      title: "Latency CDF",
      label: "share of requests completed within a latency in milliseconds",
      option: {
        ...frame(),
        xAxis: logAxis("latency, ms", "x", quantilesNs.map(nsToMs)),
        yAxis: {
          ...axis("% of requests", "y"),
          min: 0,
          max: 100,
          interval: 25,
        },
        series: [
          line("completed", points),
          ...(sloMs === undefined
            ? []
            : [line("target", [[sloMs, 0], [sloMs, 100]])]),
        ],
      },
    });
  }
  return charts;
}
