/**
 * The bench's report: one HTML file without a script and without anything to load. Written so that
 * it is well-formed XML too.
 */
import { benchTable, peaksTable } from "./bench_table.ts";
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
import { formatNumber } from "./format.ts";
import { cssColor, type PolicyStyle, policyStyles } from "./palette.ts";
import { styleSheet } from "./style_sheet.ts";
import {
  type Chart,
  type ChartRenderer,
  chartRenderer,
  escapeHtml,
} from "./svg_chart.ts";
import type { Table } from "./table.ts";

/**
 * @param options.baselines policies that ratios are given against; default: those of the text table
 * @throws RangeError when the result holds no point
 */
export async function htmlReport(
  result: BenchResult,
  options: { baselines?: readonly string[] } = {},
): Promise<string> {
  const policies = policiesOf(result.models);
  if (policies.length === 0) {
    throw new RangeError(
      "A report needs a model with at least one measured point",
    );
  }
  const styles = policyStyles(policies);
  const render = await chartRenderer();
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Shoal bench</title>
<style>
${styleSheet(styles)}
</style>
</head>
<body>
<header>
<h1>Shoal bench</h1>
${
    facts({
      started: result.startedAt,
      command: result.command,
      seed: result.seed,
      ...result.machine,
    })
  }
<nav>${
    result.models.map(({ name }) =>
      `<a href="#${anchor(name)}">${escapeHtml(name)}</a>`
    ).join(" ")
  }</nav>
</header>
<main>
${
    result.models.map((model) =>
      modelSection(model, styles, render, options.baselines)
    )
      .join("\n")
  }
</main>
<footer>
${NOTES}
</footer>
</body>
</html>
`;
}

const NOTES = `<h2>How to read this</h2>
<ul>
<li>Requests arrive when they are due, whatever the server does (open loop). Latency runs from the scheduled arrival
to the departure; queue is the part before a request's first task, compute the part from there on.</li>
<li>Throughput is requests done, divided by the time from the first arrival to the last departure.</li>
<li>p90 spread is the lowest and the highest p90 among the five consecutive fifths of a run.</li>
<li>Rows per task counts rows that advanced a request. Pad is the share of rows computed only to fill a shape,
spec the share submitted ahead that lay behind their request's end.</li>
<li>Batch-size charts weigh by rows: how large the batch was that a row ran in.</li>
<li>Ratios compare with the baseline at the same load: p90 below 1x and req above 1x are better. Differences within
2 % are not coloured.</li>
</ul>`;

function modelSection(
  model: ModelResult,
  styles: ReadonlyMap<string, PolicyStyle>,
  render: ChartRenderer,
  baselines: readonly string[] | undefined,
): string {
  const row = (charts: readonly Chart[]) =>
    charts.length === 0
      ? ""
      : `<div class="charts">${
        charts.map((chart) => figure(chart, render)).join("\n")
      }</div>`;
  const policies = policiesOf([model]);
  return `<section id="${anchor(model.name)}">
<h2>${escapeHtml(model.name)}</h2>
${
    facts({
      workload: model.workload,
      workers: model.workers,
      ...model.sizes,
      "serial capacity": `${formatNumber(model.serialCapacityPerS)} requests/s`,
    })
  }
<ul class="legend">${
    policies.map((policy) => legendEntry(policy, styles.get(policy)!)).join("")
  }</ul>
<h3>Latency against throughput</h3>
${row(latencyCharts(model, styles))}
<h3>Latency distribution</h3>
${row(cdfCharts(model, styles))}
<h3>Batch sizes</h3>
${row(batchCharts(model, styles))}
<h3>Figures</h3>
${htmlTable(benchTable(model, baselines), styles)}
<h3>Peaks</h3>
${htmlTable(peaksTable(model), styles)}
${row(curveCharts(model))}
</section>`;
}

function figure(chart: Chart, render: ChartRenderer): string {
  return `<figure><figcaption>${escapeHtml(chart.title)}</figcaption>${
    render(chart)
  }</figure>`;
}

function facts(values: Readonly<Record<string, string | number>>): string {
  const entries = Object.entries(values).map(([name, value]) =>
    `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(`${value}`)}</dd></div>`
  );
  return `<dl class="facts">${entries.join("")}</dl>`;
}

const SYMBOL_PATHS: Readonly<Record<PolicyStyle["symbol"], string>> = {
  circle: "M20 2a5 5 0 1 0 .01 0Z",
  rect: "M15 2h10v10h-10Z",
  triangle: "M20 2L25 12H15Z",
  diamond: "M20 1L26 7L20 13L14 7Z",
  roundRect:
    "M17 2h6a2 2 0 0 1 2 2v6a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v-6a2 2 0 0 1 2 -2Z",
  pin: "M20 12L16 6a4 4 0 1 1 8 0Z",
  arrow: "M20 2L25 12L20 9L15 12Z",
};

const DASHES: Readonly<Record<PolicyStyle["line"], string>> = {
  solid: "none",
  dashed: "5 3",
  dotted: "2 3",
};

function legendEntry(
  policy: string,
  { color, symbol, line }: PolicyStyle,
): string {
  const stroke =
    `stroke="${color.standIn}" stroke-width="2" stroke-dasharray="${
      DASHES[line]
    }"`;
  return `<li><svg viewBox="0 0 40 14" width="40" height="14" aria-hidden="true"><path d="M0 7H40" fill="none" ${stroke}/>` +
    `<path d="${SYMBOL_PATHS[symbol]}" fill="${color.standIn}"/></svg>${
      escapeHtml(policy)
    }</li>`;
}

function htmlTable(
  { columns, rows }: Table,
  styles: ReadonlyMap<string, PolicyStyle>,
): string {
  const side = (i: number) =>
    columns[i]!.align === "left" ? ` class="left"` : "";
  const head = columns.map(({ title }, i) =>
    `<th scope="col"${side(i)}>${escapeHtml(title)}</th>`
  ).join("");
  const groups: string[] = [""];
  for (const row of rows) {
    if (row === null) {
      groups.push("");
      continue;
    }
    const cells = row.map(({ text, tone }, i) => {
      const style = columns[i]!.title === "policy"
        ? styles.get(text)
        : undefined;
      const chip = style
        ? `<span class="chip" style="background:${
          cssColor(style.color)
        }"></span>`
        : "";
      const classes = [columns[i]!.align === "left" ? "left" : "", tone ?? ""]
        .filter((name) => name !== "").join(" ");
      return `<td${classes && ` class="${classes}"`}>${chip}${
        escapeHtml(text)
      }</td>`;
    });
    groups[groups.length - 1] += `<tr>${cells.join("")}</tr>\n`;
  }
  const bodies = groups.map((group) => `<tbody>${group}</tbody>`).join("\n");
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead>\n${bodies}</table></div>`;
}

function anchor(name: string): string {
  return `model-${name.replace(/[^A-Za-z0-9_-]/g, "-")}`;
}
