/** Curves as charts: rate over rows, ours beside the bounds and the peers. */
import {
  axis,
  frame,
  lineSeries,
  logAxis,
  type Styles,
} from "../../../src/report/chart_parts.ts";
import { figure, legendEntry } from "../../../src/report/html_parts.ts";
import { policyStyles } from "../../../src/report/palette.ts";
import { type Chart, chartRenderer } from "../../../src/report/svg_chart.ts";
import type { Curve, CurvePoint } from "./measure.ts";
import { sizeText } from "./table.ts";

/** One line of a chart, and what it shows at a point. */
interface Line {
  name: string;
  value(point: CurvePoint): number;
}

function linesOf({ points, threads }: Curve): Line[] {
  const builds = Object.keys(threads);
  const peers = Object.keys(points[0].ratios);
  return [
    ...[...builds, ...peers].map((name): Line => ({
      name,
      value: ({ rates }) => rates[name],
    })),
    ...builds.flatMap((name): Line[] => [
      {
        name: `bound, ${name}`,
        value: ({ bounds }) => bounds[name].kernel,
      },
      {
        name: `bound by the probe, ${name}`,
        value: ({ bounds }) => bounds[name].probe,
      },
    ]),
  ];
}

function chartOf(curve: Curve, styles: Styles): Chart {
  const { kind, label, unit, weightBytes, points } = curve;
  return {
    title: `${kind}, ${sizeText(weightBytes)}`,
    label: `${kind} ${label}: ${unit} against rows of the batch, ${
      linesOf(curve).map(({ name }) => name).join(", ")
    }`,
    option: {
      ...frame(),
      xAxis: logAxis("rows", "x", points.map(({ rows }) => rows)),
      yAxis: { ...axis(unit, "y"), min: 0 },
      series: linesOf(curve).map(({ name, value }) => ({
        ...lineSeries(name, styles),
        showSymbol: !name.startsWith("bound"),
        data: points.map((point) => [point.rows, value(point)]),
      })),
    },
  };
}

/** A part of a page, and how its lines look. */
export async function curveSection(
  curves: readonly Curve[],
): Promise<{ html: string; styles: Styles }> {
  const names = new Set(
    curves.flatMap((curve) => linesOf(curve).map(({ name }) => name)),
  );
  const styles = policyStyles([...names]);
  const render = await chartRenderer();
  const legend = [...styles].map(([name, style]) => legendEntry(name, style));
  const figures = curves.map((curve) => figure(chartOf(curve, styles), render));
  return {
    html: `<h2>Rate over the rows of a batch</h2>
<p>Bound: the weights read once and the arithmetic at the kernel's own best rate, one after the other.</p>
<ul class="legend">${legend.join("")}</ul>
<div class="charts">${figures.join("\n")}</div>`,
    styles,
  };
}
