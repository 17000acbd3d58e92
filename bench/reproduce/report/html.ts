/** The reproduction's report: one HTML file without a script and without anything to load. */
import type { Styles } from "../../../src/report/chart_parts.ts";
import { formatCount, formatNumber } from "../../../src/report/format.ts";
import {
  facts,
  htmlPage,
  htmlTable,
  legendEntry,
} from "../../../src/report/html_parts.ts";
import { cssColor, GRID, policyStyles } from "../../../src/report/palette.ts";
import { styleSheet } from "../../../src/report/style_sheet.ts";
import {
  type ChartRenderer,
  chartRenderer,
  escapeHtml,
} from "../../../src/report/svg_chart.ts";
import type { Table } from "../../../src/report/table.ts";
import { VERDICTS } from "../claim.ts";
import type { ChartData, TableData } from "../experiment.ts";
import {
  furthestOff,
  type JudgedPaper,
  type RanExperiment,
  type Tally,
  tallyOf,
} from "../run/judge.ts";
import type { ReproduceResult } from "../run/result.ts";
import { plotted } from "./charts.ts";
import { anchor, claimsTable, VERDICT_STYLE } from "./html_claims.ts";
import { OFF_SHOWN, offText, tallyText } from "./text.ts";
import { colourNames, timelineSvg } from "./timeline.ts";

export async function reproduceHtml(result: ReproduceResult): Promise<string> {
  const { papers, machine, seed, runs } = result;
  const render = await chartRenderer();
  return htmlPage({
    title: "Shoal: the papers' claims",
    style: `${styleSheet(everyStyle(papers))}\n${STYLE}`,
    body: `<header>
<h1>The papers' claims, published and here</h1>
<p class="conclusion">${escapeHtml(tallyText(result.tally))}</p>
${
      facts({
        started: result.startedAt,
        command: result.command,
        seed,
        "runs per point": runs,
        took: `${result.seconds.toFixed(0)} s, ${
          result.cpuSeconds.toFixed(0)
        } s of CPU time`,
        ...machine,
      })
    }
${result.quick ? "<p>A quick run: fewer points and runs.</p>" : ""}
${problemsList(result.problems)}
<nav>${
      papers.map(({ name, title }) =>
        `<a href="#${anchor(name)}">${escapeHtml(title)}</a>`
      ).join(" ")
    }</nav>
<h2>Verdicts</h2>
${htmlTable(verdictTable(papers, result.tally), new Map())}
${furthestPart(papers)}
</header>
<main>
${papers.map((paper) => paperSection(paper, render)).join("\n")}
</main>
<footer>
${NOTES}
</footer>`,
  });
}

const NOTES = `<h2>How to read this</h2>
<ul>
<li>To the digit: the published value itself, for what is exact (arithmetic, worked examples, data, configurations).</li>
<li>Same direction and size: a gain whose logarithm is within a factor of 2 of the published one's, or a quantity within a factor of 1.5.</li>
<li>Same direction: it goes the way that was published, and less or more far; statements without a figure have a direction only.</li>
<li>A claim is judged by its worst value. What is not reproduced has a cause, and a chart or table that shows it.</li>
<li>Vertical lines at points and bars: 25th to 75th percentile over runs.</li>
</ul>`;

const STYLE = `${VERDICT_STYLE}
.key{display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0;padding:0;list-style:none;font-size:12.5px}
figure .key svg{display:inline;width:40px;height:14px;vertical-align:-2px;margin-right:5px}
.key .square{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
.wide{grid-column:1/-1;max-width:none}
.experiment{border-top:1px solid ${cssColor(GRID)};margin-top:26px}
.experiment h3{margin-top:14px}
.tables{display:flex;flex-wrap:wrap;gap:0 36px}
.named{margin:14px 0 0;min-width:0;max-width:100%}
.named h4{font-size:14px;margin:0 0 4px}
nav a{display:inline-block}
:target{outline:2px solid currentColor;outline-offset:4px}`;

function problemsList(problems: readonly string[]): string {
  if (problems.length === 0) return "";
  return `<h2>Problems</h2>
<ul class="worse">${
    problems.map((problem) => `<li>${escapeHtml(problem)}</li>`).join("")
  }</ul>`;
}

function verdictTable(papers: readonly JudgedPaper[], all: Tally): Table {
  const row = (name: string, tally: Tally) => [
    { text: name },
    { text: `${Object.values(tally).reduce((sum, one) => sum + one, 0)}` },
    ...VERDICTS.map((verdict) => ({ text: `${tally[verdict]}` })),
  ];
  return {
    columns: [
      { title: "paper", align: "left" },
      { title: "claims" },
      ...VERDICTS.map((title) => ({ title })),
    ],
    rows: [
      ...papers.filter(({ claims }) => claims.length > 0)
        .map((paper) => row(paper.title, tallyOf([paper]))),
      null,
      row("all", all),
    ],
  };
}

function furthestPart(papers: readonly JudgedPaper[]): string {
  const items = furthestOff(papers, OFF_SHOWN).map((one) =>
    `<li><a href="#${anchor(one.judged.claim.id)}">${
      escapeHtml(one.judged.claim.id)
    }</a>: ${escapeHtml(offText(one))}</li>`
  );
  return items.length === 0 ? "" : `<h3>Furthest off</h3>
<ul>${items.join("")}</ul>`;
}

function paperSection(paper: JudgedPaper, render: ChartRenderer): string {
  return `<section id="${anchor(paper.name)}">
<h2>${escapeHtml(paper.title)}</h2>
${paper.claims.length > 0 ? claimsTable(paper) : ""}
${
    paper.experiments.map((experiment) => experimentPart(experiment, render))
      .join("\n")
  }
</section>`;
}

function experimentPart(
  { id, title, conditions, seconds, outcome, error, claims }: RanExperiment,
  render: ChartRenderer,
): string {
  const about = claims.length === 0 ? "" : `, ${claims.join(", ")}`;
  const head = `<div class="experiment" id="${anchor(id)}">
<h3>${escapeHtml(title)}</h3>
<p class="note">${escapeHtml(`${id}${about}; ${seconds.toFixed(1)} s`)}</p>
<p>${escapeHtml(conditions)}</p>`;
  if (outcome === undefined) {
    return `${head}
<p class="worse">${escapeHtml(error ?? "")}</p>
</div>`;
  }
  const { charts, tables } = outcome;
  const styles = policyStyles(namesIn(charts));
  return `${head}
<div class="charts">${
    charts.map((chart) => chartFigure(id, chart, { styles, render })).join("\n")
  }</div>
<div class="tables">${
    tables.map((table) => namedTable(id, table)).join("\n")
  }</div>
</div>`;
}

/** What has a colour in charts, in order of appearance. */
function namesIn(charts: readonly ChartData[]): string[] {
  return [
    ...new Set(
      charts.flatMap((chart) =>
        chart.kind === "timeline"
          ? colourNames(chart)
          : chart.series.map(({ name }) => name)
      ),
    ),
  ];
}

/** The styles of all experiments: the values of the colours are on the page once. */
function everyStyle(papers: readonly JudgedPaper[]): Styles {
  const styles = papers.flatMap(({ experiments }) => experiments)
    .flatMap(({ outcome }) => [
      ...policyStyles(namesIn(outcome?.charts ?? [])).values(),
    ]);
  return new Map(styles.map((style) => [style.color.standIn, style]));
}

function chartFigure(
  experiment: string,
  data: ChartData,
  { styles, render }: { styles: Styles; render: ChartRenderer },
): string {
  const id = anchor(experiment, data.title);
  const caption = `<figcaption>${escapeHtml(data.title)}</figcaption>`;
  if (data.kind === "timeline") {
    const { svg, width } = timelineSvg(data, styles);
    const scrolled =
      `<div class="scroll"><div style="min-width:${width}px;max-width:${
        Math.round(1.4 * width)
      }px">${svg}</div></div>`;
    return `<figure id="${id}" class="wide">${caption}${scrolled}</figure>`;
  }
  const entries = data.series.map(({ name }) =>
    data.kind === "lines"
      ? legendEntry(name, styles.get(name)!)
      : `<li><span class="square" style="background:${
        cssColor(styles.get(name)!.color)
      }"></span>${escapeHtml(name)}</li>`
  ).join("");
  return `<figure id="${id}">${caption}<ul class="key">${entries}</ul>${
    render(plotted(data, styles))
  }</figure>`;
}

function namedTable(experiment: string, table: TableData): string {
  return `<div class="named" id="${anchor(experiment, table.title)}"><h4>${
    escapeHtml(table.title)
  }</h4>
${htmlTable(tableOf(table), new Map())}</div>`;
}

/** Columns of words to the left, numbers to the right. */
function tableOf({ columns, rows }: TableData): Table {
  return {
    columns: columns.map((title, i) =>
      i === 0 || rows.some((row) => typeof row[i] === "string")
        ? { title, align: "left" }
        : { title }
    ),
    rows: rows.map((row) =>
      row.map((cell) => ({
        text: typeof cell === "string"
          ? cell
          : Number.isInteger(cell)
          ? formatCount(cell)
          : formatNumber(cell),
      }))
    ),
  };
}
