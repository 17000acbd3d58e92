/** Who runs what from when to when, as SVG. */
import { formatNumber } from "../../../src/report/format.ts";
import { GRID, INK, MUTED } from "../../../src/report/palette.ts";
import type { Styles } from "../../../src/report/chart_parts.ts";
import { CHART_WIDTH, escapeHtml } from "../../../src/report/svg_chart.ts";
import type { ChartData } from "../experiment.ts";

export type TimelineData = Extract<ChartData, { kind: "timeline" }>;

const ROW = 26;
const BAR = 20;
const AXIS = 30;
const FONT = 11;
/** Width of a character, about. */
const CHARACTER = 0.58 * FONT;
const NAME_MAX = 16;
const RIGHT = 14;
const TICKS = 5;
/** For timelines whose labels find no room on a phone: as wide as these need, to be scrolled. */
const WIDTH_MAX = 1200;

/** What a span is coloured by: its label without what tells pieces of the same thing apart. */
export function colourNames({ rows }: TimelineData): string[] {
  return [
    ...new Set(rows.flatMap(({ spans }) => spans.map(({ label }) => label))),
  ];
}

/** @returns the drawing and its width, which is a phone's or what the labels need */
export function timelineSvg(
  { title, unit, rows }: TimelineData,
  styles: Styles,
): { svg: string; width: number } {
  const left = 8 +
    CHARACTER *
      Math.min(NAME_MAX, Math.max(0, ...rows.map(({ name }) => name.length)));
  const spans = rows.flatMap(({ spans }) => spans);
  const start = Math.min(0, ...spans.map(({ from }) => from));
  const end = Math.max(start, ...spans.map(({ to }) => to));
  const span = end > start ? end - start : 1;
  const needed = Math.max(
    0,
    ...spans.filter(({ from, to }) => to > from).map(({ from, to, label }) =>
      (CHARACTER * label.length + 4) * span / (to - from)
    ),
  );
  const width = Math.round(
    Math.min(WIDTH_MAX, Math.max(CHART_WIDTH, left + needed + RIGHT)),
  );
  const x = (at: number) =>
    round(left + (width - left - RIGHT) * (at - start) / span);
  const height = rows.length * ROW + AXIS;
  const ticks = tickValues(start, end);
  const grid = ticks.map((at) =>
    `<path d="M${x(at)} 0V${rows.length * ROW}" stroke="${GRID.standIn}"/>` +
    text(x(at), rows.length * ROW + 14, tickText(at), "middle", MUTED.standIn)
  ).join("");
  const drawn = rows.map(({ name, spans }, i) => {
    const top = i * ROW + (ROW - BAR) / 2;
    const bars = spans.map(({ from, to, label }) => {
      const bar = round(Math.max(1, x(to) - x(from)));
      const { standIn } = styles.get(label)!.color;
      const fits = bar >= CHARACTER * label.length;
      return `<g><title>${
        escapeHtml(
          `${label}: ${formatNumber(from)} to ${formatNumber(to)} ${unit}`,
        )
      }</title><rect x="${
        x(from)
      }" y="${top}" width="${bar}" height="${BAR}" fill="${standIn}" fill-opacity="0.22" stroke="${standIn}"/>${
        fits
          ? text(
            round(x(from) + bar / 2),
            top + BAR / 2 + 4,
            label,
            "middle",
            INK.standIn,
          )
          : ""
      }</g>`;
    }).join("");
    const shownName = name.length > NAME_MAX
      ? `${name.slice(0, NAME_MAX - 1)}…`
      : name;
    return text(0, top + BAR / 2 + 4, shownName, "start", MUTED.standIn) + bars;
  }).join("");
  const unitText = text(
    width - RIGHT,
    rows.length * ROW + 27,
    unit,
    "end",
    MUTED.standIn,
  );
  return {
    width,
    svg: `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${
      escapeHtml(`${title}: ${rows.map(({ name }) => name).join(", ")}`)
    }">${grid}${drawn}${unitText}</svg>`,
  };
}

function text(
  x: number,
  y: number,
  content: string,
  anchor: "start" | "middle" | "end",
  fill: string,
): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${FONT}" fill="${fill}">${
    escapeHtml(content)
  }</text>`;
}

/** Round values from start to end, a handful. */
function tickValues(start: number, end: number): number[] {
  const rough = (end - start) / TICKS;
  if (!(rough > 0)) return [start];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough)!;
  const first = Math.ceil(start / step);
  return Array.from(
    { length: Math.floor(end / step + 1e-9) - first + 1 },
    (_, i) => (first + i) * step,
  );
}

function tickText(at: number): string {
  return `${Number(at.toPrecision(6))}`;
}

function round(pixels: number): number {
  return Math.round(10 * pixels) / 10;
}
