/** Curves as text. */
import type { Column, Table, TableCell } from "../../../src/report/table.ts";
import { digits } from "../print.ts";
import type { Curve, CurvePoint } from "./measure.ts";

const MIB = 2 ** 20;
const FALL = "falls";

/** What a curve is of and what bounds it, one line for each of our builds below. */
export function curveHead(curve: Curve): string[] {
  const { kind, label, unit, weightBytes, threads } = curve;
  return [
    `${kind} ${label}: ${sizeText(weightBytes)}, ${unit}`,
    ...Object.keys(threads).map((name) => {
      const read = curve.readGBps[name].toFixed(1);
      const full = curve.fullRate[name].toFixed(1);
      const probe = curve.probeRate[name].toFixed(1);
      return `  ${
        threadsText(curve, name)
      }: the same memory is read at ${read} GB/s; the kernel's best here ${full}, the probe's ${probe}`;
    }),
  ];
}

function threadsText({ threads }: Curve, name: string): string {
  return threads[name] === 1 ? "1 thread" : `${threads[name]} threads`;
}

/** "32.0 MiB", "512 KiB". */
export function sizeText(bytes: number): string {
  return bytes < MIB
    ? `${(bytes / 2 ** 10).toFixed(0)} KiB`
    : `${(bytes / MIB).toFixed(1)} MiB`;
}

/** A row for every number of rows. */
export function curveTable(curve: Curve): Table {
  const { points, falls } = curve;
  const builds = Object.keys(curve.threads);
  const peers = Object.keys(points[0].ratios);
  const scaled = points[0].scaling !== undefined;
  const columns: Column[] = [
    { title: "rows" },
    ...builds.flatMap((name): Column[] => [
      { title: threadsText(curve, name) },
      { title: "of bound", joined: true },
      { title: "by probe", joined: true },
    ]),
    ...(scaled ? [{ title: "over one" }] : []),
    ...peers.flatMap((name): Column[] => [
      { title: name },
      { title: "over it", joined: true },
    ]),
  ];
  return {
    columns,
    rows: points.map((point) => {
      const { rows, rates, bounds, ratios, scaling } = point;
      const rate = (name: string) =>
        `${falls[name].includes(rows) ? `${FALL} ` : ""}${
          rates[name].toFixed(digits(rates[name]))
        }`;
      const texts = [
        `${rows}`,
        ...builds.flatMap((name) => [
          rate(name),
          (rates[name] / bounds[name].kernel).toFixed(2),
          (rates[name] / bounds[name].probe).toFixed(2),
        ]),
        ...(scaling === undefined ? [] : [`${scaling.toFixed(2)}x`]),
        ...peers.flatMap((peer) => [
          rate(peer),
          `${ratios[peer][builds[builds.length - 1]].toFixed(2)}x`,
        ]),
      ];
      return texts.map((text): TableCell => ({ text }));
    }),
  };
}

/** A line that sums a curve up: its least share of the bound, and where it falls. */
export function curveSummary(curve: Curve): string[] {
  const { points, falls, threads } = curve;
  return Object.keys(threads).map((name) => {
    const share = ({ rates, bounds }: CurvePoint) =>
      rates[name] / bounds[name].kernel;
    const least = points.reduce((a, b) => share(b) < share(a) ? b : a);
    const down = falls[name];
    return `  ${threadsText(curve, name)}: at least ${
      share(least).toFixed(2)
    } of the bound (${rowsText([least.rows])}); ${
      down.length === 0 ? "falls nowhere" : `falls at ${rowsText(down)}`
    }`;
  });
}

function rowsText(rows: readonly number[]): string {
  return `${rows.join(", ")} ${
    rows.length === 1 && rows[0] === 1 ? "row" : "rows"
  }`;
}
