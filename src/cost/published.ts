/** Latency tables printed in the papers, as cost sources for simulations. Times in nanoseconds. */
import { type CurvePoints, onCurve } from "../base/curve.ts";
import { msToNs, NS_PER_US } from "../base/units.ts";
import type { SharedCost } from "./shared_cost.ts";

/**
 * One LSTM step, hidden size 1024, on a V100.
 * Source: Cellular Batching, section 7.3 (185 us at 64 rows, 784 us at 512).
 * Assumption: 50 us for one row: Fig. 3 shows the time flat for small batches but no figure is printed.
 * Beyond 512 rows the time is in proportion to them (section 2.2).
 */
export const LSTM_STEP_V100: CurvePoints = [
  [1, 50 * NS_PER_US],
  [64, 185 * NS_PER_US],
  [512, 784 * NS_PER_US],
];

/** Whole networks on a Titan RTX, by batch size. Source: E2bird, Table 1. */
export const RESNET_TITAN_RTX: Readonly<Record<string, CurvePoints>> = {
  resnet50: table([[4, 6.8], [8, 12.1], [16, 21.5], [32, 40.1]]),
  resnet101: table([[4, 11.8], [8, 20.6], [16, 36.2], [32, 65.4]]),
  resnet152: table([[4, 17.3], [8, 29.2], [16, 49.5], [32, 93.7]]),
};

/**
 * Assumption: the table lacks sizes 1 and 2; they lie on the line through 4 and 8.
 */
function table(
  ms: readonly (readonly [rows: number, ms: number])[],
): CurvePoints {
  const [[rows4, ms4], [rows8, ms8]] = ms as [
    [number, number],
    [number, number],
  ];
  const perRow = (ms8! - ms4!) / (rows8! - rows4!);
  const before = [1, 2].map((rows) =>
    [rows, ms4! - perRow * (rows4! - rows)] as const
  );
  return [...before, ...ms].map(([rows, ms]) => [rows, msToNs(ms)]);
}

export interface SharedTableOptions {
  /** Copies to and from the device per row, ns; default 0. */
  htodNs?: number;
  dtohNs?: number;
}

/**
 * A GPU that executes a whole network as one cell, with latencies by batch size; its slots share it.
 * Assumption: a batch fills the share of the device that its throughput is of the best: the work that a
 * row is stays the same, whatever runs beside it.
 */
export function sharedTable(
  points: CurvePoints,
  { htodNs = 0, dtohNs = 0 }: SharedTableOptions = {},
): SharedCost {
  const best = Math.max(...points.map(([rows, ns]) => rows / ns));
  return {
    latencyNs: (_cell, rows) => Math.round(onCurve(points, rows)),
    demand: (_cell, rows) => Math.min(1, rows / onCurve(points, rows) / best),
    htodNs: (_cell, rows) => htodNs * rows,
    dtohNs: (_cell, rows) => dtohNs * rows,
  };
}
