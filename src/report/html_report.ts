/**
 * The bench's report: one HTML file without a script and without anything to load. Written so that
 * it is well-formed XML too.
 */
import { benchTable, overviewTable, peaksTable } from "./bench_table.ts";
import {
  type BenchResult,
  type ModelResult,
  policiesOf,
} from "./bench_result.ts";
import {
  batchCharts,
  cdfCharts,
  curveCharts,
  latencyCharts,
} from "./charts.ts";
import {
  modelConclusion,
  NOISE_RULE,
  overallConclusion,
} from "./conclusion.ts";
import { formatCount, formatNumber } from "./format.ts";
import {
  facts,
  figure,
  htmlPage,
  htmlTable,
  legendEntry,
} from "./html_parts.ts";
import { type PolicyStyle, policyStyles } from "./palette.ts";
import { styleSheet } from "./style_sheet.ts";
import {
  type Chart,
  type ChartRenderer,
  chartRenderer,
  escapeHtml,
} from "./svg_chart.ts";
import { legend } from "./table.ts";

export interface HtmlReportOptions {
  /** Policies that ratios are given against; default: those of the text table. */
  readonly baselines?: readonly string[];
  /** Draws the charts; default: `chartRenderer()`. */
  readonly render?: ChartRenderer;
}

/** @throws RangeError when the result holds no point */
export async function htmlReport(
  result: BenchResult,
  options: HtmlReportOptions = {},
): Promise<string> {
  const { models } = result;
  const policies = policiesOf(models);
  if (policies.length === 0) {
    throw new RangeError(
      "A report needs a model with at least one measured point",
    );
  }
  const styles = policyStyles(policies);
  const render = options.render ?? await chartRenderer();
  const page: Page = { styles, render, baselines: options.baselines };
  return htmlPage({
    title: "Shoal bench",
    style: styleSheet(styles),
    body: `<header>
<h1>Shoal bench</h1>
<p class="conclusion">${escapeHtml(overallConclusion(models))}</p>
${
      facts({
        started: result.startedAt,
        command: result.command,
        size: `${result.size.class}: ${result.size.why}`,
        seed: result.seed,
        ...result.machine,
      })
    }
<nav>${
      models.map(({ name }) =>
        `<a href="#${anchor(name)}">${escapeHtml(name)}</a>`
      ).join(" ")
    }</nav>
<h2>All models</h2>
${htmlTable(overviewTable(models), styles)}
</header>
<main>
${models.map((model) => modelSection(model, page)).join("\n")}
</main>
<footer>
${notes(models)}
</footer>`,
  });
}

/** What all parts of a page are drawn with. */
interface Page {
  readonly styles: ReadonlyMap<string, PolicyStyle>;
  readonly render: ChartRenderer;
  readonly baselines: readonly string[] | undefined;
}

function notes(models: readonly ModelResult[]): string {
  const meanings = legend([
    overviewTable(models),
    ...models.flatMap((model) => [
      benchTable(model, { traces: true }),
      peaksTable(model, { setUp: true }),
    ]),
  ]);
  const columns = [...meanings].map(([kind, meaning]) =>
    `<div><dt>${escapeHtml(kind)}</dt><dd>${escapeHtml(meaning)}</dd></div>`
  ).join("\n");
  return `<h2>How to read this</h2>
<ul>
<li>Requests arrive when they are due, whatever the server does (open loop).</li>
<li>${escapeHtml(NOISE_RULE)}.</li>
<li>Batch-size charts weigh by rows: how large the batch was that a row ran in.</li>
<li>Ratios within 2 % of 1 are not coloured.</li>
<li>Traces open at ui.perfetto.dev, or in a browser's own trace viewer.</li>
</ul>
<dl class="columns">
${columns}
</dl>`;
}

function modelSection(model: ModelResult, page: Page): string {
  const { styles, render, baselines } = page;
  const row = (title: string, charts: readonly Chart[]) =>
    charts.length === 0 ? "" : `<h3>${title}</h3>
<div class="charts">${
      charts.map((chart) => figure(chart, render)).join("\n")
    }</div>`;
  const policies = policiesOf([model]);
  const isNoteless = (model.notes ?? []).length === 0;
  return `<section id="${anchor(model.name)}">
<h2>${escapeHtml(model.name)}</h2>
<p class="conclusion">${escapeHtml(modelConclusion(model))}</p>
${
    facts({
      workload: model.workload,
      workers: model.workers,
      ...model.sizes,
      "serial capacity": `${formatNumber(model.serialCapacityPerS)} requests/s`,
    })
  }
${isNoteless ? "" : `<p>${escapeHtml(model.notes!.join("; "))}</p>`}
<ul class="legend">${
    policies.map((policy) => legendEntry(policy, styles.get(policy)!)).join("")
  }</ul>
${row("Latency against throughput", latencyCharts(model, styles))}
${row("Latency distribution", cdfCharts(model, styles))}
${row("Batch sizes", batchCharts(model, styles))}
<h3>Figures</h3>
${
    htmlTable(
      benchTable(model, { ...(baselines && { baselines }), traces: true }),
      styles,
    )
  }
${tracesNote(model)}
<h3>Peaks</h3>
${htmlTable(peaksTable(model, { setUp: true }), styles)}
${row("Batching curves", curveCharts(model))}
</section>`;
}

function tracesNote({ points }: ModelResult): string {
  const trace = points.find(({ trace }) => trace !== undefined)?.trace;
  if (trace === undefined) return "";
  const { requests, of } = trace;
  return `<p class="note">Traces show ${
    requests < of
      ? `the first ${formatCount(requests)} of ${formatCount(of)} requests`
      : `all ${formatCount(of)} requests`
  }.</p>`;
}

function anchor(name: string): string {
  return `model-${name.replace(/[^A-Za-z0-9_-]/g, "-")}`;
}
