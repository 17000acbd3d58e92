/** What --out writes: tables, and frame latency over streams, as one HTML page. */
import { frame, lineSeries, logAxis } from "../../src/report/chart_parts.ts";
import {
  facts,
  figure,
  htmlPage,
  htmlTable,
  legendEntry,
} from "../../src/report/html_parts.ts";
import { policyStyles } from "../../src/report/palette.ts";
import { styleSheet } from "../../src/report/style_sheet.ts";
import {
  type Chart,
  chartRenderer,
  escapeHtml,
} from "../../src/report/svg_chart.ts";
import { legend, type Table } from "../../src/report/table.ts";
import type { Carried, ModelStreams } from "./measure.ts";

/** What was measured, where. */
export interface StreamsResult {
  readonly machine: Readonly<Record<string, string | number>>;
  readonly models: readonly ModelStreams[];
  readonly tables: Readonly<Record<string, Table>>;
}

export async function streamsPage(
  { machine, models, tables }: StreamsResult,
): Promise<string> {
  const names = new Set(
    models.flatMap(({ carried }) => carried.map(lineName)),
  );
  const styles = policyStyles([...names]);
  const render = await chartRenderer();
  const charts = models.flatMap((model) =>
    (["p50Ms", "p999Ms"] as const).map((key): Chart => {
      const lines = model.carried.map((carried) => ({
        name: lineName(carried),
        points: carried.trials.filter((trial) => Number.isFinite(trial[key]))
          .map((trial): [number, number] => [trial.streams, trial[key]]),
      }));
      const all = lines.flatMap(({ points }) => points);
      const title = `${model.model}: ${
        key === "p50Ms" ? "p50" : "p99.9"
      }, a frame every ${model.periodMs} ms`;
      return {
        title,
        label: `${title}: latency in milliseconds against streams, ${
          lines.map(({ name }) => name).join(", ")
        }`,
        option: {
          ...frame(),
          xAxis: logAxis("streams", "x", all.map(([streams]) => streams)),
          yAxis: logAxis("ms", "y", all.map(([, ms]) => ms)),
          series: lines.map(({ name, points }) => ({
            ...lineSeries(name, styles),
            data: points,
          })),
        },
      };
    })
  );
  const title = "Streams";
  const sections = Object.entries(tables).map(([heading, table]) =>
    `<h2>${escapeHtml(heading)}</h2>\n${htmlTable(table, styles)}`
  );
  const meanings = [...legend(Object.values(tables))].map(([kind, meaning]) =>
    `<div><dt>${escapeHtml(kind)}</dt><dd>${escapeHtml(meaning)}</dd></div>`
  );
  const entries = [...styles].map(([name, style]) => legendEntry(name, style));
  return htmlPage({
    title,
    style: styleSheet(styles),
    body: `<h1>${title}</h1>
${facts(machine)}
${sections.join("\n")}
<h2>Latency over streams</h2>
<ul class="legend">${entries.join("")}</ul>
<div class="charts">${
      charts.map((chart) => figure(chart, render)).join("\n")
    }</div>
<h2>How to read this</h2>
<dl class="columns">${meanings.join("\n")}</dl>`,
  });
}

function lineName({ policy, workers }: Carried): string {
  return workers === 0
    ? `${policy}, own thread`
    : `${policy}, ${workers} workers`;
}
