/** The roofline: every kernel and peer against the machine's limits, as one HTML page. */
import * as echarts from "echarts";
import type { Peaks } from "./probes.ts";

interface Point {
  area: string;
  shape: string;
  unit: string;
  /** Operations per byte that has to move. */
  intensity: number;
  rates: Readonly<Record<string, number>>;
}

const [WIDTH, HEIGHT] = [1000, 640];

/** An HTML page with the plot as SVG. */
export function roofline(points: readonly Point[], peaks: Peaks): string {
  const counted = points.filter(({ unit }) => unit === "GFLOP/s");
  const names = [
    ...new Set(counted.flatMap(({ rates }) => Object.keys(rates))),
  ];
  const chart = echarts.init(null, null, {
    renderer: "svg",
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  });
  const ceiling = (name: string, rate: number | undefined) =>
    rate === undefined ? [] : [{
      name: `${name}: ${rate.toFixed(1)}`,
      yAxis: rate,
      label: { formatter: "{b}", position: "insideStartTop" as const },
    }];
  const slope = Array.from({ length: 60 }, (_, i) => 10 ** (-1 + i / 12))
    .map((intensity) => [
      intensity,
      Math.min(
        intensity * peaks.readGBps,
        Math.max(peaks.mulAdd, peaks.relaxedMadd ?? 0),
      ),
    ]);
  chart.setOption({
    animation: false,
    title: { text: "Kernels against the machine, one thread" },
    legend: { top: 30 },
    grid: { top: 80 },
    xAxis: { type: "log", name: "operations / byte" },
    yAxis: { type: "log", name: "GFLOP/s", min: 1 },
    series: [
      {
        name: `read bandwidth ${peaks.readGBps.toFixed(1)} GB/s`,
        type: "line",
        showSymbol: false,
        data: slope,
        markLine: {
          symbol: "none",
          data: [
            ...ceiling("mul+add", peaks.mulAdd),
            ...ceiling("relaxed madd", peaks.relaxedMadd),
          ],
        },
      },
      ...names.map((name) => ({
        name,
        type: "scatter" as const,
        symbolSize: 7,
        data: counted.filter(({ rates }) => name in rates)
          .map(({ intensity, rates }) => [intensity, rates[name]!]),
      })),
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `<!doctype html><meta charset="utf-8"><title>Roofline</title>${svg}\n`;
}
