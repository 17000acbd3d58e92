/**
 * Roofline of a network: multiply-accumulates per second over multiply-accumulates per DRAM byte,
 * both logarithmic; a dot per layer, coloured by what bound it.
 * Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
 */
import type { NetworkTime } from "../npu.ts";
import type { NpuConfig } from "../config.ts";
import { COLORS, escapeText, legend, line, round, svg, text } from "./svg.ts";

const WIDTH = 860;
const HEIGHT = 440;
const LEFT = 70;
const RIGHT = WIDTH - 30;
const TOP = 48;
const BOTTOM = HEIGHT - 50;
/** An axis shows at least this many powers of ten. */
const DECADES_MIN = 2;

export function rooflineSvg(network: NetworkTime, config: NpuConfig): string {
  const peak = config.array.rows * config.array.cols * config.clockHz;
  const bandwidth = config.dram.bytesPerSecond;
  const dots = network.layers
    .filter(({ time }) => time.macs > 0)
    .map(({ layer, time }) => ({
      name: layer.name,
      bound: time.bound,
      intensity: time.macs / Math.max(1, time.bytesRead + time.bytesWritten),
      rate: time.macs * config.clockHz / time.cycles,
    }));
  const ridge = peak / bandwidth;
  const xRange = decades([ridge, ...dots.map(({ intensity }) => intensity)]);
  const yRange = decades([peak, ...dots.map(({ rate }) => rate)]);
  const x = scale(xRange, [LEFT, RIGHT]);
  const y = scale(yRange, [BOTTOM, TOP]);
  const start = Math.max(10 ** xRange[0], 10 ** yRange[0] / bandwidth);
  const roof = [[start, start * bandwidth], [ridge, peak], [
    10 ** xRange[1],
    peak,
  ]].map(([intensity, rate]) => `${round(x(intensity))},${round(y(rate))}`)
    .join(" ");
  const slope = {
    x: (x(start) + x(ridge)) / 2,
    y: (y(start * bandwidth) + y(peak)) / 2,
  };
  const body = [
    ...gridLines(xRange).map(({ value, words }) =>
      line(x(value), TOP, x(value), BOTTOM, `opacity="${words ? 0.25 : 0.1}"`) +
      text(x(value), BOTTOM + 18, words, 'text-anchor="middle"')
    ),
    ...gridLines(yRange).map(({ value, words }) =>
      line(LEFT, y(value), RIGHT, y(value), `opacity="${words ? 0.25 : 0.1}"`) +
      text(LEFT - 8, y(value) + 4, words, 'text-anchor="end"')
    ),
    `<polyline points="${roof}" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
    text(RIGHT, y(peak) - 8, `${rounded(peak)}MAC/s`, 'text-anchor="end"'),
    text(
      slope.x - 8,
      slope.y - 8,
      `${rounded(bandwidth)}B/s`,
      'text-anchor="end"',
    ),
    ...dots.map(({ name, bound, intensity, rate }) =>
      `<circle cx="${round(x(intensity))}" cy="${
        round(y(rate))
      }" r="4.5" fill="${COLORS[bound]}" fill-opacity="0.6" stroke="${
        COLORS[bound]
      }"><title>${escapeText(name)}: ${rounded(rate)}MAC/s, ${
        intensity.toPrecision(3)
      } MAC per byte, bound by ${bound}</title></circle>`
    ),
    text(
      (LEFT + RIGHT) / 2,
      HEIGHT - 10,
      "MAC per DRAM byte",
      'text-anchor="middle"',
    ),
    text(LEFT, TOP - 8, "MAC per second"),
    legend(LEFT, 14, [
      { words: "layer bound by compute", color: COLORS.compute, opacity: 0.8 },
      { words: "memory", color: COLORS.memory, opacity: 0.8 },
      { words: "vector unit", color: COLORS.vector, opacity: 0.8 },
    ]),
  ];
  return svg(WIDTH, HEIGHT, body.join(""));
}

/** Powers of ten around the values, with some room above the largest. */
function decades(values: readonly number[]): [number, number] {
  const powers = values.map(Math.log10);
  const low = Math.floor(Math.min(...powers));
  const high = Math.max(low + 1, Math.ceil(Math.max(...powers) + 0.1));
  return [Math.min(low, high - DECADES_MIN), high];
}

/** Powers of ten with their names, and twos and fives without. */
function gridLines(
  [low, high]: [number, number],
): { value: number; words: string }[] {
  return Array.from({ length: high - low + 1 }, (_, i) => low + i)
    .flatMap((power) => [
      { value: 10 ** power, words: rounded(10 ** power) },
      ...(power < high
        ? [2, 5].map((factor) => ({ value: factor * 10 ** power, words: "" }))
        : []),
    ]);
}

function scale([low, high]: [number, number], [from, to]: [number, number]) {
  return (value: number) =>
    from + (Math.log10(value) - low) / (high - low) * (to - from);
}

/** Three digits and a prefix, "11.5 T"; below 1 as it is. */
function rounded(value: number): string {
  const prefixes = ["", " k", " M", " G", " T", " P", " E"];
  const thousands = Math.max(0, Math.floor(Math.log10(value * 1.0005) / 3));
  const prefix = prefixes[thousands] ?? "";
  return `${Number((value / 1000 ** thousands).toPrecision(3))}${prefix}`;
}
