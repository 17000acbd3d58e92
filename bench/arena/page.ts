/**
 * The arena as HTML: a heat map of who wins by how much, and behind it a page for each workload on each device with
 * curves over the load and everybody's figures.
 */
import { frame, lineSeries, logAxis } from "../../src/report/chart_parts.ts";
import {
  facts,
  figure,
  htmlPage,
  htmlTable,
  legendEntry,
} from "../../src/report/html_parts.ts";
import { type PolicyStyle, policyStyles } from "../../src/report/palette.ts";
import { styleSheet } from "../../src/report/style_sheet.ts";
import {
  type Chart,
  chartRenderer,
  escapeHtml,
} from "../../src/report/svg_chart.ts";
import { legend } from "../../src/report/table.ts";
import { DEVICES } from "./devices.ts";
import type { Cell, Decisions } from "./messages.ts";
import { TARGETS } from "./scenario.ts";
import { standing, told } from "./standing.ts";
import { cellTable, isNear, overallTable } from "./tables.ts";

/** What was run. */
export interface ArenaResult {
  readonly cells: readonly Cell[];
  readonly requests: number;
  readonly runs: number;
  readonly seed: number;
  readonly seconds: number;
}

/** Pages by file name, the heat map's first. */
export async function arenaPages(
  result: ArenaResult,
): Promise<Record<string, string>> {
  const names = [
    ...new Set(
      result.cells.flatMap(({ entries }) =>
        entries.map(({ policy }) => policy)
      ),
    ),
  ];
  const styles = policyStyles(names);
  const render = await chartRenderer();
  const pages: Record<string, string> = {
    "arena.html": overview(result, styles),
  };
  for (const [name, cells] of groups(result.cells, fileOf)) {
    pages[name] = detail(cells, styles, render);
  }
  return pages;
}

function fileOf({ scenario: { device, workload } }: Cell): string {
  return `${device}-${workload}.html`;
}

function anchorOf({ scenario: { arrivals, load }, target }: Cell): string {
  return `${target}-${arrivals}-${load}`;
}

/** Of a cell's decision log, from the report's folder: a file of its own, so that the pages stay small. */
export function logFile(cell: Cell): string {
  const { device, workload } = cell.scenario;
  return `logs/${device}-${workload}/${anchorOf(cell)}.txt`;
}

/** What the best of a cell and we ourselves did first. */
export function logText(cell: Cell, logs: readonly Decisions[]): string {
  const { arrivals, load, device, workload } = cell.scenario;
  const title = `${workload}, ${DEVICES[device].title}: ${arrivals}, ` +
    `load ${load}, target ${cell.target}; the first decisions`;
  return [
    title,
    ...logs.map(({ policy, lines }) => [`\n${policy}`, ...lines].join("\n")),
  ].join("\n") + "\n";
}

function groups<K, T>(all: readonly T[], key: (one: T) => K): Map<K, T[]> {
  const found = new Map<K, T[]>();
  for (const one of all) {
    const of = found.get(key(one));
    if (of) of.push(one);
    else found.set(key(one), [one]);
  }
  return found;
}

function overview(
  { cells, requests, runs, seed, seconds }: ArenaResult,
  styles: ReadonlyMap<string, PolicyStyle>,
): string {
  const table = overallTable(cells);
  const maps = [...groups(cells, ({ target }) => target)].map(
    ([target, of]) => heatMap(target, of),
  );
  return htmlPage({
    title: "Every policy on one floor",
    style: `${styleSheet(styles)}
.heat td{padding:.25em .5em;text-align:left;white-space:nowrap}
.heat a{color:inherit;text-decoration:none;display:block}
.heat .near{background:#2a9d5c33}.heat .behind{background:#d9822b44}.heat .far{background:#c8324a44}`,
    body: `<main><h1>Every policy on one floor</h1>
${
      facts({
        "requests of a run": requests,
        "runs": runs,
        seed,
        "cells": cells.length,
        "seconds": seconds.toFixed(0),
      })
    }
${htmlTable(table, styles)}${legendList(legend([table]))}
${maps.join("\n")}</main>`,
  });
}

/** Rows are workloads on devices, columns are arrivals and loads. */
function heatMap(target: string, cells: readonly Cell[]): string {
  const columns = [
    ...new Set(
      cells.map(({ scenario: { arrivals, load } }) => `${arrivals} ${load}`),
    ),
  ];
  const rows = [...groups(cells, fileOf)].map(([file, of]) => {
    const { device, workload } = of[0].scenario;
    const tds = columns.map((column) => {
      const cell = of.find(({ scenario: { arrivals, load } }) =>
        `${arrivals} ${load}` === column
      );
      return cell ? heatCell(cell, file) : "<td></td>";
    });
    return `<tr><th scope="row">${
      escapeHtml(`${workload}, ${DEVICES[device].title}`)
    }</th>${tds.join("")}</tr>`;
  });
  const times = TARGETS[target as keyof typeof TARGETS];
  const title = Number.isFinite(times)
    ? `Target ${target}: ${times} times the mean time alone; share in time`
    : "No target: mean latency in multiples of the time alone";
  return `<h2>${
    escapeHtml(title)
  }</h2><div class="scroll"><table class="heat"><thead><tr><th></th>${
    columns.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join("")
  }</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function heatCell(cell: Cell, file: string): string {
  const [first, other = first] = told(cell);
  const behind = cell.target === "none" ? other.ratio : 1 / other.ratio;
  const tone = isNear(other.ratio) ? "near" : behind < 1.5 ? "behind" : "far";
  return `<td class="${tone}"><a href="${file}#${anchorOf(cell)}">${
    escapeHtml(`${first.policy} ${first.figure.toFixed(2)}`)
  }<br/><small>${
    escapeHtml(`${other.policy} ${other.figure.toFixed(2)}`)
  }</small></a></td>`;
}

function detail(
  cells: readonly Cell[],
  styles: ReadonlyMap<string, PolicyStyle>,
  render: (chart: Chart) => string,
): string {
  const { device, workload } = cells[0].scenario;
  const title = `${workload}, ${DEVICES[device].title}`;
  const curves = [
    ...groups(
      cells,
      ({ target, scenario: { arrivals } }) => `${arrivals}, target ${target}`,
    ),
  ].map(([name, of]) => curve(name, of, styles));
  const tables = cells.map((cell) =>
    `<h2 id="${anchorOf(cell)}">${
      escapeHtml(
        `${cell.scenario.arrivals}, load ${cell.scenario.load}, target ${cell.target}`,
      )
    }</h2><p><a href="${logFile(cell)}">Decision log</a></p>${
      htmlTable(cellTable(cell), styles)
    }`
  );
  return htmlPage({
    title,
    style: styleSheet(styles),
    body: `<main><p><a href="arena.html">All</a></p><h1>${
      escapeHtml(title)
    }</h1>
${
      facts({
        "alone, us": (cells[0].aloneNs / 1000).toFixed(1),
        "capacity, requests/s": cells[0].capacityPerS.toFixed(1),
      })
    }
<ul class="legend">${
      [...styles].map(([name, style]) => legendEntry(name, style)).join("")
    }</ul>
<div class="charts">${
      curves.map((chart) => figure(chart, render)).join("")
    }</div>
${tables.join("\n")}
${legendList(legend(cells.map(cellTable)))}</main>`,
  });
}

/** Everybody's figure over the load. */
function curve(
  name: string,
  cells: readonly Cell[],
  styles: ReadonlyMap<string, PolicyStyle>,
): Chart {
  const lines = new Map<string, [number, number][]>();
  for (const cell of cells) {
    for (const { policy, figure } of standing(cell)) {
      const points = lines.get(policy) ?? [];
      lines.set(policy, points);
      // Nothing in time has no place on a logarithmic axis.
      if (figure > 0) points.push([cell.scenario.load, figure]);
    }
  }
  const all = [...lines.values()].flat();
  const y = cells[0].target === "none" ? "mean, alone" : "in time";
  return {
    title: name,
    label: `${name}: ${y} over the load`,
    option: {
      ...frame(),
      xAxis: logAxis("load", "x", all.map(([load]) => load)),
      yAxis: logAxis(y, "y", all.map(([, figure]) => figure)),
      series: [...lines].map(([policy, data]) => ({
        ...lineSeries(policy, styles),
        data,
      })),
    },
  };
}

function legendList(meanings: ReadonlyMap<string, string>): string {
  return `<dl class="facts">${
    [...meanings].map(([name, meaning]) =>
      `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(meaning)}</dd></div>`
    ).join("")
  }</dl>`;
}
