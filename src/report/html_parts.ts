/** What the reports' pages are made of, well-formed as XML too. */
import { cssColor, type PolicyStyle } from "./palette.ts";
import { type Chart, type ChartRenderer, escapeHtml } from "./svg_chart.ts";
import type { Table } from "./table.ts";

/**
 * A page without a script and without anything to load.
 * @param body of the page, escaped
 */
export function htmlPage(
  { title, style, body }: { title: string; style: string; body: string },
): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>${escapeHtml(title)}</title>
<style>
${style}
</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** A chart under its title. */
export function figure(chart: Chart, render: ChartRenderer): string {
  return `<figure><figcaption>${escapeHtml(chart.title)}</figcaption>${
    render(chart)
  }</figure>`;
}

/** Names and values side by side. */
export function facts(
  values: Readonly<Record<string, string | number>>,
): string {
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

/** A line of a legend: how what has the name is drawn. */
export function legendEntry(
  name: string,
  { color, symbol, line }: PolicyStyle,
): string {
  const stroke =
    `stroke="${color.standIn}" stroke-width="2" stroke-dasharray="${
      DASHES[line]
    }"`;
  return `<li><svg viewBox="0 0 40 14" width="40" height="14" aria-hidden="true"><path d="M0 7H40" fill="none" ${stroke}/>` +
    `<path d="${SYMBOL_PATHS[symbol]}" fill="${color.standIn}"/></svg>${
      escapeHtml(name)
    }</li>`;
}

/**
 * A table that scrolls on its own.
 * @param styles of the policies that a column "policy" names
 */
export function htmlTable(
  { columns, rows }: Table,
  styles: ReadonlyMap<string, PolicyStyle>,
): string {
  const side = (i: number) =>
    columns[i].align === "left" ? ` class="left"` : "";
  const head = columns.map(({ title }, i) =>
    `<th scope="col"${side(i)}>${escapeHtml(title)}</th>`
  ).join("");
  const groups: string[] = [""];
  for (const row of rows) {
    if (row === null) {
      groups.push("");
      continue;
    }
    const cells = row.map(({ text, tone, href }, i) => {
      const style = columns[i].title === "policy"
        ? styles.get(text)
        : undefined;
      const chip = style
        ? `<span class="chip" style="background:${
          cssColor(style.color)
        }"></span>`
        : "";
      const classes = [columns[i].align === "left" ? "left" : "", tone ?? ""]
        .filter((name) => name !== "").join(" ");
      const content = href === undefined
        ? escapeHtml(text)
        : `<a href="${escapeHtml(encodeURI(href))}">${escapeHtml(text)}</a>`;
      return `<td${classes && ` class="${classes}"`}>${chip}${content}</td>`;
    });
    groups[groups.length - 1] += `<tr>${cells.join("")}</tr>\n`;
  }
  const bodies = groups.map((group) => `<tbody>${group}</tbody>`).join("\n");
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead>\n${bodies}</table></div>`;
}
