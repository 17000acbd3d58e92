/**
 * The papers' baselines, as settings of `graph`.
 * Sources: DVABatch, section 8.1 (ZeroBatch, DelayBatch); E2bird, section 3.2 (NO_Wait, OPT_Wait, Static);
 * LazyBatching, section VI (GraphB(N)).
 */

import {
  anything,
  checkedOptions,
  type Checks,
  listOf,
  nonNegative,
  number,
  ofType,
} from "../../base/checked_options.ts";

/** Options of `graph` that a baseline sets. */
export interface GraphSettings {
  /** See `GraphOptions`. */
  readonly windowNs: number;
  /** See `GraphOptions`. */
  readonly batchSizeMax: number;
  /** See `GraphOptions`. */
  readonly dummyRows?: boolean;
}

/** What a baseline leaves to be chosen. */
export interface BaselineOptions {
  /** Most requests per batch; default: the paper's. */
  batchSizeMax?: number;
  /** The window of those that have one: given (GraphB) or found (`searchWindow`). */
  windowNs?: number;
}

/** Values are checked by `graph`, which the settings are for. */
const BASELINE_CHECKS: Checks<BaselineOptions> = {
  batchSizeMax: anything,
  windowNs: anything,
};

function checked(name: string, options: BaselineOptions): BaselineOptions {
  return checkedOptions(`Baseline "${name}"`, options, BASELINE_CHECKS);
}

/**
 * Every baseline of the papers by the name its paper gives it, as options of `graph`. Those with a window throw a
 * RangeError without one.
 * Sources: DVABatch, section 8.1 (ZeroBatch, DelayBatch); E2bird, section 3.2 (NO_Wait, OPT_Wait, Static);
 * LazyBatching, section VI (GraphB(N)).
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { graph } from "@shoal/core";
 * import { BASELINES } from "@shoal/core/simulate";
 *
 * const policy = graph(BASELINES.GraphB({ windowNs: 25e6 })); // GraphB(25)
 * assert.equal(policy.name, "graph");
 * assert.throws(() => BASELINES.DelayBatch({}), /needs a "windowNs"/);
 * ```
 */
export const BASELINES: Readonly<
  Record<string, (options: BaselineOptions) => GraphSettings>
> = {
  /** DVABatch's: no window, at most 64. */
  ZeroBatch: (options) => withoutWindow("ZeroBatch", 64, options),
  /** DVABatch's: the window with the highest peak throughput. */
  DelayBatch: (options) => withWindow("DelayBatch", 64, options),
  /** E2bird's: TensorFlow Serving without a wait, at most 32. */
  NO_Wait: (options) => withoutWindow("NO_Wait", 32, options),
  /** E2bird's: TensorFlow Serving with the best wait (30 ms for ResNet-152). */
  OPT_Wait: (options) => withWindow("OPT_Wait", 32, options),
  /** E2bird's: OPT_Wait with every batch filled up by dummies. */
  Static: (options) => ({
    ...withWindow("Static", 32, options),
    dummyRows: true,
  }),
  /** LazyBatching's GraphB(N): the window is N ms. */
  GraphB: (options) => withWindow("GraphB", 64, options),
};

function withoutWindow(
  name: string,
  otherwise: number,
  options: BaselineOptions,
): GraphSettings {
  const { batchSizeMax = otherwise } = checked(name, options);
  return { windowNs: 0, batchSizeMax };
}

function withWindow(
  name: string,
  otherwise: number,
  options: BaselineOptions,
): GraphSettings {
  const { windowNs, batchSizeMax = otherwise } = checked(name, options);
  if (windowNs === undefined) {
    throw new RangeError(
      `Baseline "${name}" needs a "windowNs"; searchWindow() finds the best one`,
    );
  }
  return { windowNs, batchSizeMax };
}

const checkWindows = listOf(nonNegative);
const checkScore = number("a number", (value) => !Number.isNaN(value));

/**
 * The best of several windows for a baseline; the shorter of equals.
 * @param windowsNs windows to try, at least 0
 * @param score of a run with a window, the higher the better: the peak throughput that keeps the QoS
 * target (DelayBatch), or the negative latency at high load (OPT_Wait)
 * @returns the window, and its score
 * @throws TypeError or RangeError on an argument that is not one, a score that is no number, or without a window
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { searchWindow } from "@shoal/core/simulate";
 *
 * // Usually the score of a simulation; here a peak at 10 ms.
 * const { windowNs } = searchWindow([0, 5e6, 10e6, 20e6], (ns) => -Math.abs(ns - 10e6));
 * assert.equal(windowNs, 10e6);
 * ```
 */
export function searchWindow(
  windowsNs: readonly number[],
  score: (windowNs: number) => number,
): { windowNs: number; score: number } {
  checkWindows("windowsNs", windowsNs);
  ofType("function")("score", score);
  let best: { windowNs: number; score: number } | undefined;
  for (const windowNs of [...windowsNs].sort((a, b) => a - b)) {
    const reached = score(windowNs);
    checkScore(`score(${windowNs})`, reached);
    if (best === undefined || reached > best.score) {
      best = { windowNs, score: reached };
    }
  }
  if (best === undefined) {
    throw new RangeError("A search needs at least one window to try");
  }
  return best;
}
