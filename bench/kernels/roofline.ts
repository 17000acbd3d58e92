/** The roofline: every kernel and peer against the machine's limits. */
import * as echarts from "echarts";
import { htmlTable } from "../../src/report/html_parts.ts";
import type { Column } from "../../src/report/table.ts";
import type { Result } from "./contest.ts";
import type { Peaks } from "./probes.ts";

const [WIDTH, HEIGHT] = [1100, 720];

/** A part of a page: the plot as SVG, and its points as a table. */
export function rooflineSection(
  results: readonly Result[],
  peaks: Peaks,
): string {
  const names = [
    ...new Set(results.flatMap(({ rates }) => Object.keys(rates))),
  ];
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  });
  const ceilings = Object.entries({
    "f32 mul + add": peaks.mulAdd,
    "f32 relaxed madd": peaks.relaxedMadd,
    "i16 dot + add": peaks.dot16,
    "relaxed int8 dot": peaks.relaxedDot8,
    "relaxed int8 dot, 16 bits first": peaks.chainedDot8,
  }).flatMap(([name, rate]) => rate === undefined ? [] : [{ name, rate }]);
  const roof = Math.max(...ceilings.map(({ rate }) => rate));
  const slope = Array.from({ length: 73 }, (_, i) => 10 ** (-1.5 + i / 12))
    .map((
      intensity,
    ) => [intensity, Math.min(intensity * peaks.readGBps, roof)]);
  chart.setOption({
    animation: false,
    title: {
      text: "Kernels against the limits of one thread",
      subtext: "operations: floating-point, int8, elements, or bytes moved",
    },
    legend: { top: 60 },
    grid: { top: 112 },
    xAxis: { type: "log", name: "operations / byte" },
    yAxis: { type: "log", name: "G operations/s", min: 0.1 },
    series: [
      {
        name: `read bandwidth ${peaks.readGBps.toFixed(1)} GB/s`,
        type: "line",
        showSymbol: false,
        data: slope,
        markLine: {
          symbol: "none",
          data: ceilings.map(({ name, rate }) => ({
            name: `${name}: ${rate.toFixed(1)}`,
            yAxis: rate,
            label: { formatter: "{b}", position: "insideStartTop" as const },
          })),
        },
      },
      ...names.map((name) => ({
        name,
        type: "scatter" as const,
        symbolSize: 7,
        data: results.filter(({ rates }) => name in rates)
          .map(({ label, unit, intensity, rates }) => ({
            name: `${name}, ${label}: ${rates[name].toFixed(2)} ${unit}`,
            value: [intensity, rates[name]],
          })),
      })),
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  const columns = [
    ...["area", "kernel"].map((title): Column => ({ title, align: "left" })),
    ...["operations / byte", ...names].map((title): Column => ({ title })),
    { title: "unit", align: "left" } satisfies Column,
  ];
  const rows = results.map(({ area, label, unit, intensity, rates }) =>
    [
      ...[area, label, intensity.toFixed(2)],
      ...names.map((name) => rates[name]?.toFixed(2) ?? ""),
      unit,
    ].map((text) => ({ text }))
  );
  // ECharts' own colours are for a light page.
  return `<h2>Roofline</h2>
<div class="scroll" style="background:#fff;color-scheme:light">${svg}</div>
${htmlTable({ columns, rows }, new Map())}`;
}
