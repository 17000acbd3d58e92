/** Charts of experiments, from their data: lines with their spread, bars with theirs. */
import {
  axis,
  frame,
  lineSeries,
  logAxis,
  type Styles,
} from "../../../src/report/chart_parts.ts";
import { formatNumber } from "../../../src/report/format.ts";
import { INK, MUTED } from "../../../src/report/palette.ts";
import type { Chart } from "../../../src/report/svg_chart.ts";
import type { ChartData, Series } from "../experiment.ts";

export type PlottedData = Exclude<ChartData, { kind: "timeline" }>;

type Point = Series["points"][number];

/** Characters of an axis' name that fit over or under a chart. */
const AXIS_NAME_MAX = 44;
/** Points of a line that are marked. */
const MARKED_MAX = 24;
/** What ECharts takes for a gap in a line. */
const GAP = "-";

export function plotted(data: PlottedData, styles: Styles): Chart {
  return {
    title: data.title,
    label: `${data.title}: ${data.y} against ${data.x}, ${
      data.series.map(({ name }) => name).join(", ")
    }`,
    option: data.kind === "lines" ? lines(data, styles) : bars(data, styles),
  };
}

/** Points that the axes can show. */
function shown({ points }: Series, { logX, logY }: PlottedData): Point[] {
  const onAxis = (value: number, log: boolean | undefined) =>
    Number.isFinite(value) && (value > 0 || !log);
  return points.filter(({ x, y }) => onAxis(x, logX) && onAxis(y, logY));
}

/** From the 25th to the 75th percentile of a point, on the axis. */
function spread(
  { y, low = y, high = y }: Point,
  { logY }: PlottedData,
): [number, number] | undefined {
  const isDrawn = Number.isFinite(low) && Number.isFinite(high) && low < high &&
    (low > 0 || !logY);
  return isDrawn ? [low, high] : undefined;
}

function lines(data: PlottedData, styles: Styles) {
  const series = data.series.map((one) => ({
    ...one,
    points: shown(one, data),
  }));
  const points = series.flatMap(({ points }) => points);
  return {
    ...frame(),
    xAxis: data.logX
      ? logAxis(clipped(data.x), "x", points.map(({ x }) => x))
      : { ...axis(clipped(data.x), "x"), scale: true },
    yAxis: yAxis(data, points),
    series: series.flatMap(({ name, points }) => {
      const line = lineSeries(name, styles);
      const whiskers = points.flatMap((point) => {
        const ends = spread(point, data);
        return ends === undefined
          ? []
          : [[point.x, ends[0]], [point.x, ends[1]], [GAP, GAP]];
      });
      return [
        {
          ...line,
          ...(data.step && { step: "end" }),
          showSymbol: points.length <= MARKED_MAX,
          symbolSize: 7,
          data: points.map(({ x, y }) => [x, y]),
        },
        ...(whiskers.length > 0 ? [whiskerSeries(name, whiskers, styles)] : []),
      ];
    }),
  };
}

function yAxis(data: PlottedData, points: readonly Point[]) {
  return data.logY
    ? logAxis(clipped(data.y), "y", points.map(({ y }) => y))
    : axis(clipped(data.y), "y");
}

/** Vertical lines, one for each point. */
function whiskerSeries(
  name: string,
  data: readonly (readonly (number | string)[])[],
  styles: Styles,
) {
  const { lineStyle } = lineSeries(name, styles);
  return {
    type: "line",
    name: `${name}, spread`,
    showSymbol: false,
    connectNulls: false,
    lineStyle: { ...lineStyle, width: 1.5, type: "solid", opacity: 0.6 },
    data,
  };
}

/** Shares of a group's width. */
const GROUP_GAP = 0.22;
/** Share of a bar's width. */
const BAR_GAP = 0.08;
/** Characters of a group's name where names have to be slanted. */
const SLANTED_MAX = 12;
const SLANT_DEGREES = 35;
/** Pixels of a character and of the plot's width, about. */
const CHARACTER = 6;
const PLOT_WIDTH = 286;
/** Groups beyond which not every name is written. */
const NAMED_MAX = 14;

function bars(data: PlottedData, styles: Styles) {
  const places = data.categories?.map((_, i) => i) ??
    [...new Set(data.series.flatMap(({ points }) => points.map(({ x }) => x)))]
      .filter((x) => Number.isFinite(x)).sort((a, b) => a - b);
  const names = data.categories ?? places.map((x) => formatNumber(x));
  const isSlanted =
    CHARACTER * (Math.max(0, ...names.map((n) => n.length)) + 1) *
        Math.min(names.length, NAMED_MAX) > PLOT_WIDTH;
  const series = data.series.map((one) => ({
    ...one,
    points: shown(one, { ...data, logX: false }),
  }));
  const { grid } = frame();
  const x = axis(clipped(data.x), "x");
  const count = series.length;
  const width = (1 - GROUP_GAP) / (count + (count - 1) * BAR_GAP);
  const whiskers = series.flatMap(({ name, points }, i) => {
    const offset = -(1 - GROUP_GAP) / 2 + width / 2 + i * width * (1 + BAR_GAP);
    const ends = points.flatMap((point) => {
      const both = spread(point, data);
      const at = places.indexOf(point.x) + offset;
      return both === undefined
        ? []
        : [[at, both[0]], [at, both[1]], [GAP, GAP]];
    });
    return ends.length === 0 ? [] : [ends].map((data) => ({
      ...whiskerSeries(name, data, styles),
      xAxisIndex: 1,
      lineStyle: { color: INK.standIn, width: 1.5 },
      z: 3,
    }));
  });
  return {
    grid: isSlanted ? { ...grid, bottom: 84 } : grid,
    xAxis: [
      {
        ...x,
        type: "category",
        data: isSlanted ? names.map((name) => cut(name, SLANTED_MAX)) : names,
        nameGap: isSlanted ? 64 : x.nameGap,
        axisLabel: {
          ...x.axisLabel,
          ...(names.length <= NAMED_MAX && { interval: 0, hideOverlap: false }),
          ...(isSlanted && { rotate: SLANT_DEGREES }),
        },
      },
      { type: "value", min: -0.5, max: places.length - 0.5, show: false },
    ],
    yAxis: {
      ...yAxis(data, series.flatMap(({ points }) => points)),
      // At the left, not at the hidden axis' 0.
      axisLine: { onZero: false, lineStyle: { color: MUTED.standIn } },
    },
    series: [
      ...series.map(({ name, points }) => ({
        type: "bar",
        name,
        barGap: `${100 * BAR_GAP}%`,
        barCategoryGap: `${100 * GROUP_GAP}%`,
        itemStyle: { color: styles.get(name)!.color.standIn },
        data: places.map((place) =>
          points.find(({ x }) => x === place)?.y ?? GAP
        ),
      })),
      ...whiskers,
    ],
  };
}

function clipped(name: string): string {
  return cut(name, AXIS_NAME_MAX);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
