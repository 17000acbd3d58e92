/** What --plot writes: the roofline of everything timed, and curves where there are any, as one HTML page. */
import { facts, htmlPage } from "../../src/report/html_parts.ts";
import { styleSheet } from "../../src/report/style_sheet.ts";
import type { Result } from "./contest.ts";
import { curveSection } from "./curve/charts.ts";
import type { Curve } from "./curve/measure.ts";
import type { Peaks } from "./probes.ts";
import { rooflineSection } from "./roofline.ts";

/** What was measured, where. */
export interface Plotted {
  machine: Readonly<Record<string, string | number>>;
  peaks: Peaks;
  results: readonly Result[];
  curves: readonly Curve[];
}

export async function plotPage(
  { machine, peaks, results, curves }: Plotted,
): Promise<string> {
  const { html = "", styles = new Map() } = curves.length > 0
    ? await curveSection(curves)
    : {};
  const title = "Kernels against the machine";
  const points = [...results, ...curves.flatMap(({ points }) => points)];
  return htmlPage({
    title,
    style: styleSheet(styles),
    body: `<h1>${title}</h1>
${facts(machine)}
${html}
${rooflineSection(points, peaks)}`,
  });
}
