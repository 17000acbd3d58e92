/** Cycles of each layer as a bar: the array's own work, and the stalls after it, by what bound the layer. */
import type { NetworkTime } from "../npu.ts";
import {
  COLORS,
  escapeText,
  legend,
  line,
  round,
  svg,
  text,
  textWidth,
} from "./svg.ts";

const ROW = 18;
const TOP = 48;
const WIDTH = 860;
/** Room for the figures beside the longest bar. */
const RIGHT = 150;
const NAME_WIDTH_MAX = 300;
const TICKS_MAX = 5;

export function layerChartSvg({ layers }: NetworkTime): string {
  const names = layers.map(({ layer }) => shortened(layer.name));
  const left = Math.max(60, ...names.map(textWidth)) + 12;
  const longest = Math.max(1, ...layers.map(({ time }) => time.cycles));
  const x = (cycles: number) =>
    left + cycles / longest * (WIDTH - left - RIGHT);
  const height = TOP + layers.length * ROW + 10;
  const bars = layers.map(({ layer, time }, i) => {
    const top = TOP + i * ROW;
    const array = Math.min(time.arrayCycles, time.cycles);
    const bar = (from: number, to: number, color: string, opacity: number) =>
      `<rect x="${round(x(from))}" y="${top}" width="${
        round(x(to) - x(from))
      }" height="${ROW - 5}" fill="${color}" fill-opacity="${opacity}"/>`;
    return `<g><title>${
      escapeText(layer.name)
    }: ${time.cycles} cycles, ${time.stallCycles} stalled, ` +
      `bound by ${time.bound}</title>` +
      text(left - 8, top + 11, names[i], 'text-anchor="end"') +
      bar(0, array, COLORS.array, 0.9) +
      bar(array, time.cycles, COLORS[time.bound], 0.4) +
      text(
        x(time.cycles) + 6,
        top + 11,
        `${grouped(time.cycles)} (${time.utilizationPct.toFixed(0)} %)`,
      ) +
      "</g>";
  });
  const keys = legend(left, 16, [
    { words: "array busy", color: COLORS.array, opacity: 0.9 },
    { words: "stalled, bound by compute", color: COLORS.compute, opacity: 0.4 },
    { words: "memory", color: COLORS.memory, opacity: 0.4 },
    { words: "vector unit", color: COLORS.vector, opacity: 0.4 },
  ]);
  const ticks = ticksTo(longest).map((cycles) =>
    line(x(cycles), TOP - 6, x(cycles), height - 8, 'opacity="0.15"') +
    text(
      x(cycles),
      TOP - 12,
      grouped(cycles) + (cycles === 0 ? " cycles" : ""),
      'text-anchor="middle"',
    )
  );
  return svg(WIDTH, height, keys + ticks.join("") + bars.join(""));
}

function shortened(name: string): string {
  if (textWidth(name) <= NAME_WIDTH_MAX) return name;
  let end = name.length;
  while (textWidth(`${name.slice(0, end)}…`) > NAME_WIDTH_MAX) end--;
  return `${name.slice(0, end)}…`;
}

/** Multiples of 1, 2 or 5 times a power of ten. */
function ticksTo(largest: number): number[] {
  const power = 10 ** Math.floor(Math.log10(largest));
  const step = [0.1, 0.2, 0.5, 1, 2].map((factor) => factor * power)
    .find((each) => Number.isInteger(each) && largest / each <= TICKS_MAX) ??
    largest;
  return Array.from(
    { length: Math.floor(largest / step) + 1 },
    (_, i) => i * step,
  );
}

/** 1234567 as 1,234,567. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}
