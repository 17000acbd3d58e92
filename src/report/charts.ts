/** The charts of a model, from its points. */
import { log2 } from "../base/elementary/logarithm.ts";
import { nsToMs } from "../base/units.ts";
import { type BenchPoint, loadsOf, type ModelResult } from "./bench_result.ts";
import {
  axis,
  frame,
  lineSeries,
  logAxis,
  type Styles,
} from "./chart_parts.ts";
import { INK } from "./palette.ts";
import type { Chart } from "./svg_chart.ts";

/** Latency (log) against throughput, one line per policy through its loads: p50, p90, p99. */
export function latencyCharts(model: ModelResult, styles: Styles): Chart[] {
  const panels = [["p50", "p50Ns"], ["p90", "p90Ns"], [
    "p99",
    "p99Ns",
  ]] as const;
  return panels.map(([title, key]) => {
    const latencyMs = (point: BenchPoint) => nsToMs(point.metrics.latency[key]);
    const points = model.points.filter((point) =>
      Number.isFinite(point.metrics.latency[key])
    );
    return {
      title: `${title} latency against throughput`,
      label:
        `${model.name}: ${title} latency in milliseconds against throughput in requests per second, by policy`,
      option: {
        ...frame(),
        xAxis: axis("throughput, requests/s", "x"),
        yAxis: logAxis("ms", "y", points.map(latencyMs)),
        series: policiesIn(points).map((policy) => ({
          ...lineSeries(policy, styles),
          data: points.filter((point) => point.policy === policy)
            .sort((a, b) => a.offeredPerS - b.offeredPerS)
            .map((point) => [point.metrics.throughputPerS, latencyMs(point)]),
        })),
      },
    };
  });
}

/** Share of requests done within a latency (log), one line per policy; a chart per load. */
export function cdfCharts(model: ModelResult, styles: Styles): Chart[] {
  return loadsOf(model).map((load) => {
    const points = model.points.filter(({ loadName, metrics }) =>
      loadName === load && metrics.latencyQuantilesNs.length > 0
    );
    return {
      title: `Latency CDF, ${load} load`,
      label:
        `${model.name}: share of requests done within a latency in milliseconds at ${load} load, by policy`,
      option: {
        ...frame(),
        xAxis: logAxis(
          "latency, ms",
          "x",
          points.flatMap(({ metrics }) =>
            metrics.latencyQuantilesNs.map(nsToMs)
          ),
        ),
        yAxis: {
          ...axis("% of requests", "y"),
          min: 0,
          max: 100,
          interval: 25,
        },
        series: points.map(({ policy, metrics }) => {
          const quantiles = metrics.latencyQuantilesNs;
          return {
            ...lineSeries(policy, styles),
            // A line of one point is seen by its marker alone.
            showSymbol: quantiles.length === 1,
            data: quantiles.map((
              ns,
              k,
            ) => [nsToMs(ns), 100 * (k + 1) / quantiles.length]),
          };
        }),
      },
    };
  });
}

/** Share of rows that ran in a batch of a size, in powers of two; a chart per load. */
export function batchCharts(model: ModelResult, styles: Styles): Chart[] {
  const largest = Math.max(
    1,
    ...model.points.flatMap(({ metrics }) =>
      metrics.batch.histogram.map(([rows]) => rows)
    ),
  );
  const bins = Math.ceil(log2(largest)) + 1;
  return loadsOf(model).map((load) => {
    const points = model.points.filter(({ loadName }) => loadName === load);
    return {
      title: `Batch sizes, ${load} load`,
      label:
        `${model.name}: share of rows by the size of the batch they ran in at ${load} load, by policy`,
      option: {
        ...frame(),
        xAxis: {
          ...axis("rows in the batch, up to", "x"),
          type: "category",
          data: Array.from({ length: bins }, (_, i) => `${2 ** i}`),
        },
        yAxis: { ...axis("% of rows", "y"), min: 0, max: 100, interval: 25 },
        series: points.map(({ policy, metrics }) => ({
          type: "bar",
          name: policy,
          barGap: "8%",
          barCategoryGap: "22%",
          itemStyle: { color: styles.get(policy)!.color.standIn },
          data: rowShares(metrics.batch.histogram, bins),
        })),
      },
    };
  });
}

/** Rows per second against rows in the batch (both log), a line per cell; nothing without curves. */
export function curveCharts(model: ModelResult): Chart[] {
  const curves = model.batchCurves ?? [];
  return curves.map(({ cell, points }) => ({
    title: `Batching curve of ${cell}`,
    label:
      `${model.name}: rows per second of cell ${cell} against the rows in its batch`,
    option: {
      ...frame(),
      xAxis: logAxis("rows in the batch", "x", points.map(({ rows }) => rows)),
      yAxis: { ...axis("rows/s", "y"), min: 0 },
      series: [{
        type: "line",
        symbol: "circle",
        symbolSize: 6,
        itemStyle: { color: INK.standIn },
        lineStyle: { width: 2, color: INK.standIn },
        data: points.map(({ rows, rowsPerS }) => [rows, rowsPerS]),
      }],
    },
  }));
}

function policiesIn(points: readonly BenchPoint[]): string[] {
  return [...new Set(points.map(({ policy }) => policy))];
}

/** Percentage of rows per bin. Tasks of padding alone have no rows and do not show. */
function rowShares(
  histogram: readonly (readonly [number, number])[],
  bins: number,
): number[] {
  const shares = new Array<number>(bins).fill(0);
  const all = histogram.reduce((sum, [rows, tasks]) => sum + rows * tasks, 0);
  for (const [rows, tasks] of histogram) {
    if (rows > 0) {
      shares[Math.ceil(log2(rows))] += 100 * rows * tasks / all;
    }
  }
  return shares;
}
