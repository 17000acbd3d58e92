/** Latency tables printed in the papers, as cost sources for simulations. Times in nanoseconds. */
import {
  checkedOptions,
  type Checks,
  finiteNonNegative,
  ofType,
} from "../base/checked_options.ts";
import { checkCurve, type CurvePoints, onCurve } from "../base/curve.ts";
import { power } from "../base/elementary/power.ts";
import { msToNs, NS_PER_US } from "../base/units.ts";
import type { SharedCost } from "./shared_cost.ts";

/**
 * One LSTM step, hidden size 1024, on a V100: points [rows, ns].
 * Source: Cellular Batching, section 7.3 (185 us at 64 rows, 784 us at 512). Fewer rows than 64 take as long as 64
 * (section 7.2: "any batch size b < 64 has similar latency"); beyond 512 the time is in proportion to them
 * (section 2.2).
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { LSTM_STEP_V100, TableCost } from "@shoal/core/simulate";
 *
 * const cost = new TableCost({ lstm_step: LSTM_STEP_V100 });
 * const [step] = lstm({ hidden: 4, vocabulary: 10 }).cells; // costs go by the cell's name
 * assert.equal(cost.latencyNs(step, 64), 185_000);
 * ```
 */
export const LSTM_STEP_V100: CurvePoints = [
  [64, 185 * NS_PER_US],
  [512, 784 * NS_PER_US],
];

/**
 * Whole networks on a Titan RTX, `resnet50`, `resnet101` and `resnet152`: points [batch size, ns], for `sharedTable`.
 * Source: E2bird, Table 1. Assumption: sizes 1 and 2, which it lacks, lie on the line through 4 and 8.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { RESNET_TITAN_RTX } from "@shoal/core/simulate";
 *
 * assert.deepEqual(RESNET_TITAN_RTX.resnet50.at(-1), [32, 40_100_000]);
 * ```
 */
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
  const perRow = (ms8 - ms4) / (rows8 - rows4);
  const before = [1, 2].map((rows) =>
    [rows, ms4 - perRow * (rows4 - rows)] as const
  );
  return [...before, ...ms].map(([rows, ms]) => [rows, msToNs(ms)]);
}

/**
 * What streams cost each other on a Titan RTX, beyond sharing it: the factor by which n of them slow
 * everything down is 1 + 0.0204 (n - 1)^1.417.
 * Source: E2bird, Fig. 12 and section 7.3.1, ResNet-152: mean latency 85.3 ms for workers of 8, 8 and 16
 * together, four times as much for mixes of single requests, where equal sharing (`sharedTable`) gives
 * 81.3 and 93.7 ms. Assumption: the form is a power of the number of others; the mix of four times is that
 * of 32 workers of size 1. Both figures are the offline profile's, none a result of the evaluation.
 * @param batches that run beside each other
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { titanRtxInterference } from "@shoal/core/simulate";
 *
 * assert.equal(titanRtxInterference(1), 1);
 * assert.equal(titanRtxInterference(2), 1.0204);
 * ```
 */
export function titanRtxInterference(batches: number): number {
  return 1 + 0.0204 * power(Math.max(0, batches - 1), 1.417);
}

/** Options of `sharedTable`. */
export interface SharedTableOptions {
  /** See `SharedCost.interference`; default: none. */
  interference?: (batches: number) => number;
  /** Copies to the device per row, ns; default 0. */
  htodNs?: number;
  /** Copies from the device per row, ns; default 0. */
  dtohNs?: number;
}

const SHARED_TABLE_CHECKS: Checks<SharedTableOptions> = {
  interference: ofType("function"),
  htodNs: finiteNonNegative,
  dtohNs: finiteNonNegative,
};

/**
 * A GPU that executes a whole network as one cell, with latencies by batch size; its slots share it.
 * Assumption: a batch fills the share of the device that its throughput is of the best: the work that a
 * row is stays the same, whatever runs beside it.
 * @param points [batch size, ns] of the network alone on the device
 * @throws TypeError or RangeError on points or an option that are not
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { RESNET_TITAN_RTX, sharedTable, titanRtxInterference } from "@shoal/core/simulate";
 *
 * const cost = sharedTable(RESNET_TITAN_RTX.resnet50, { interference: titanRtxInterference });
 * const [cell] = lstm({ hidden: 4, vocabulary: 10 }).cells; // one cell stands for the network
 * assert.equal(cost.latencyNs(cell, 32), 40_100_000);
 * assert.equal(cost.demand(cell, 32), 1); // the best throughput: the device is full
 * ```
 */
export function sharedTable(
  points: CurvePoints,
  options: SharedTableOptions = {},
): SharedCost {
  checkCurve("the network", points);
  const { htodNs = 0, dtohNs = 0, interference = () => 1 } = checkedOptions(
    "sharedTable()",
    options,
    SHARED_TABLE_CHECKS,
  );
  // What takes no time has no throughput: like a batch of nothing, it fills the device.
  const best = Math.max(
    0,
    ...points.map(([rows, ns]) => ns > 0 ? rows / ns : 0),
  );
  return {
    latencyNs: (_cell, rows) => Math.round(onCurve(points, rows)),
    demand: (_cell, rows) => {
      const ns = onCurve(points, rows);
      return ns > 0 ? Math.min(1, rows / ns / best) : 1;
    },
    interference,
    htodNs: (_cell, rows) => htodNs * rows,
    dtohNs: (_cell, rows) => dtohNs * rows,
  };
}
