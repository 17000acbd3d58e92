/** What the reports' charts are made of: axes, frames and lines that look alike. */
import { GRID, MUTED, PAPER, type PolicyStyle } from "./palette.ts";

/** How each line is drawn, by its name. */
export type Styles = ReadonlyMap<string, PolicyStyle>;

/** A line in its own colour, dash and marker. */
export function lineSeries(policy: string, styles: Styles) {
  const { color, symbol, line } = styles.get(policy)!;
  return {
    type: "line",
    name: policy,
    symbol,
    symbolSize: 8,
    lineStyle: { color: color.standIn, width: 2, type: line },
    itemStyle: {
      color: color.standIn,
      borderColor: PAPER.standIn,
      borderWidth: 1,
    },
  };
}

/** Room around the plot for axes and their names. */
export function frame() {
  return { grid: { left: 56, right: 18, top: 30, bottom: 46 } };
}

/** A linear axis: light lines across for y, ticks for x. */
export function axis(name: string, side: "x" | "y") {
  return {
    type: "value",
    name,
    nameLocation: side === "x" ? "middle" : "end",
    nameGap: side === "x" ? 28 : 12,
    nameTextStyle: {
      color: MUTED.standIn,
      fontSize: 12,
      align: side === "x" ? "center" : "left",
    },
    axisLabel: {
      color: MUTED.standIn,
      fontSize: 11,
      hideOverlap: true,
      formatter: formatTick,
    },
    axisLine: { show: true, lineStyle: { color: MUTED.standIn } },
    axisTick: { show: side === "x", lineStyle: { color: MUTED.standIn } },
    splitLine: { show: side === "y", lineStyle: { color: GRID.standIn } },
    splitNumber: 4,
  };
}

/** Powers of 10 beyond two decades, else powers of 2, so that there are always lines to read from. */
export function logAxis(
  name: string,
  side: "x" | "y",
  values: readonly number[],
) {
  const positive = values.filter((value) => value > 0);
  const span = Math.max(...positive) / Math.min(...positive);
  return { ...axis(name, side), type: "log", logBase: span > 100 ? 10 : 2 };
}

function formatTick(value: number | string): string {
  if (typeof value === "string") return value;
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1000) return `${Number((value / 1000).toPrecision(3))}k`;
  return `${Number(value.toPrecision(3))}`;
}
