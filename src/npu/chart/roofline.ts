/**
 * Roofline of a network: multiply-accumulates per second over multiply-accumulates per DRAM byte,
 * both logarithmic; a dot per layer, coloured by what bound it.
 * Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
 */
import type { NetworkTime } from "../npu.ts";
import type { NpuConfig } from "../config.ts";
import { COLORS, escapeText, line, round, svg, text } from "./svg.ts";

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 70;
const BOTTOM = 50;

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
  const xs = [ridge, ...dots.map(({ intensity }) => intensity)];
  const ys = [peak, ...dots.map(({ rate }) => rate)];
  const x = scale(decades(xs), [LEFT, WIDTH - 20]);
  const y = scale(decades(ys), [HEIGHT - BOTTOM, 20]);
  const [xLow, xHigh] = decades(xs);
  const [yLow] = decades(ys);
  const start = Math.max(10 ** xLow, 10 ** yLow / bandwidth);
  const roof = [[start, start * bandwidth], [ridge, peak], [10 ** xHigh, peak]]
    .map(([intensity, rate]) => `${round(x(intensity))},${round(y(rate))}`)
    .join(" ");
  const body = [
    ...axis(decades(xs)).map((power) =>
      line(
        x(10 ** power),
        20,
        x(10 ** power),
        HEIGHT - BOTTOM,
        'opacity="0.15"',
      ) +
      text(
        x(10 ** power),
        HEIGHT - BOTTOM + 18,
        label(power),
        'text-anchor="middle"',
      )
    ),
    ...axis(decades(ys)).map((power) =>
      line(LEFT, y(10 ** power), WIDTH - 20, y(10 ** power), 'opacity="0.15"') +
      text(LEFT - 8, y(10 ** power) + 4, label(power), 'text-anchor="end"')
    ),
    `<polyline points="${roof}" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
    ...dots.map(({ name, bound, intensity, rate }) =>
      `<circle cx="${round(x(intensity))}" cy="${round(y(rate))}" r="4" fill="${
        COLORS[bound]
      }" ` +
      `fill-opacity="0.75"><title>${
        escapeText(name)
      } (${bound})</title></circle>`
    ),
    text(
      (LEFT + WIDTH) / 2,
      HEIGHT - 10,
      "MAC per DRAM byte",
      'text-anchor="middle"',
    ),
    text(LEFT, 14, "MAC per second"),
  ];
  return svg(WIDTH, HEIGHT, body.join(""));
}

/** Whole powers of ten around the values. */
function decades(values: readonly number[]): [number, number] {
  const powers = values.map(Math.log10);
  const low = Math.floor(Math.min(...powers));
  return [low, Math.max(low + 1, Math.ceil(Math.max(...powers)))];
}

function axis([low, high]: [number, number]): number[] {
  return Array.from({ length: high - low + 1 }, (_, i) => low + i);
}

function scale([low, high]: [number, number], [from, to]: [number, number]) {
  return (value: number) =>
    from + (Math.log10(value) - low) / (high - low) * (to - from);
}

function label(power: number): string {
  const names: Record<number, string> = {
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
  };
  const base = Math.floor(power / 3) * 3;
  return base in names ? `${10 ** (power - base)}${names[base]}` : `1e${power}`;
}
