/** Cycles of each layer as a bar: the array's own work, and the stalls after it. */
import type { NetworkTime } from "../npu.ts";
import { COLORS, escapeText, line, round, svg, text } from "./svg.ts";

const ROW = 18;
const LEFT = 110;
const WIDTH = 720;
const RIGHT = 150;

export function layerChartSvg({ layers }: NetworkTime): string {
  const longest = Math.max(1, ...layers.map(({ time }) => time.cycles));
  const x = (cycles: number) =>
    LEFT + cycles / longest * (WIDTH - LEFT - RIGHT);
  const bars = layers.map(({ layer, time }, i) => {
    const top = 24 + i * ROW;
    const array = Math.min(time.arrayCycles, time.cycles);
    const bar = (from: number, to: number, color: string, opacity: number) =>
      `<rect x="${round(x(from))}" y="${top}" width="${
        round(x(to) - x(from))
      }" height="${ROW - 5}" fill="${color}" fill-opacity="${opacity}"/>`;
    return `<g><title>${
      escapeText(layer.name)
    }: ${time.cycles} cycles, ${time.stallCycles} stalled, ` +
      `bound by ${time.bound}</title>` +
      text(LEFT - 8, top + 11, layer.name, 'text-anchor="end"') +
      bar(0, array, COLORS.compute, 0.9) +
      bar(array, time.cycles, COLORS[time.bound], 0.4) +
      text(
        x(time.cycles) + 6,
        top + 11,
        `${time.cycles} (${time.utilizationPct.toFixed(0)} %)`,
      ) +
      "</g>";
  });
  const height = 24 + layers.length * ROW + 10;
  const head = text(
    LEFT,
    14,
    "cycles per layer (array busy, then stalled; share of peak)",
  );
  return svg(
    WIDTH,
    height,
    head + line(LEFT, 20, LEFT, height - 8, 'opacity="0.4"') + bars.join(""),
  );
}
