import {
  checkedOptions,
  type Checks,
  positiveInteger,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import { ascending, mean, percentile } from "../base/statistics.ts";
import { NS_PER_S } from "../base/units.ts";
import type { Outcome } from "../policy/records.ts";
import { Collector, OUTCOMES } from "./collector.ts";
import type { Distribution, Metrics } from "./metrics.ts";

const CDF_POINTS = 200;
const FIFTHS = 5;
const DONE = OUTCOMES.indexOf("done");
const EXPIRED = OUTCOMES.indexOf("expired");

/** Options of {@linkcode summarize}. */
export interface SummarizeOptions {
  /** Workers of the executor, of whose time `utilisation` is a share; default: up to the last that had a task. */
  workers?: number;
}

const CHECKS: Checks<SummarizeOptions> = { workers: positiveInteger };

/**
 * Works the books of a run out to its metrics.
 * @throws TypeError or RangeError on an argument that is not one
 *
 * @example Two requests of one step each, one behind the other
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, serial } from "@shoal/core";
 * import {
 *   Collector, constantCost, driveVirtual, EngineCore, SimExecutor, summarize, Timeline,
 * } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(1000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const collector = new Collector();
 * const engine = new EngineCore({ models: [model], policy: serial(), executor, observer: collector });
 * const request = { model, input: { tokens: [1] }, arrivalNs: 0 };
 * driveVirtual(engine, timeline, [request, request]);
 * const { latency, throughputPerS, utilisation } = summarize(collector, { workers: 1 });
 * assert.equal(latency.meanNs, 1500);
 * assert.equal(throughputPerS, 1e6);
 * assert.equal(utilisation, 1);
 * ```
 */
export function summarize(
  collector: Collector,
  options: SummarizeOptions = {},
): Metrics {
  if (!(collector instanceof Collector)) {
    throw new TypeError(
      `"collector" is a Collector, got ${describe(collector)}`,
    );
  }
  const { workers = collector.busyNs.length } = checkedOptions(
    "summarize()",
    options,
    CHECKS,
  );
  if (workers < collector.busyNs.length) {
    throw new RangeError(
      `"workers" is at least ${collector.busyNs.length}, as so many had tasks, got ${workers}`,
    );
  }
  const arrivals = collector.arrivalsNs.values();
  const starts = collector.startsNs.values();
  const ends = collector.endsNs.values();
  const deadlines = collector.deadlinesNs.values();
  const outcomes = collector.outcomes.values();

  const requests = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, 0]),
  ) as Record<Outcome, number>;
  const latencies: number[] = [];
  const queueing: number[] = [];
  const compute: number[] = [];
  const done: number[] = [];
  let firstArrivalNs = Infinity;
  let lastEndNs = -Infinity;
  let withDeadline = 0;
  let violated = 0;
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i];
    requests[OUTCOMES[outcome]]++;
    firstArrivalNs = Math.min(firstArrivalNs, arrivals[i]);
    lastEndNs = Math.max(lastEndNs, ends[i]);
    if (deadlines[i] !== Infinity) {
      withDeadline++;
      if (
        outcome === EXPIRED || (outcome === DONE && ends[i] > deadlines[i])
      ) violated++;
    }
    if (outcome !== DONE) continue;
    done.push(i);
    latencies.push(ends[i] - arrivals[i]);
    queueing.push(starts[i] - arrivals[i]);
    compute.push(ends[i] - starts[i]);
  }
  const durationNs = outcomes.length === 0 ? 0 : lastEndNs - firstArrivalNs;
  const sortedLatencies = ascending(latencies);
  const workedNs = outcomes.length === 0
    ? 0
    : Math.max(lastEndNs, collector.lastTaskNs) - firstArrivalNs;
  const busyNs = collector.busyNs.reduce((a, b) => a + b, 0);
  return {
    requests,
    latency: distribution(sortedLatencies),
    queueing: distribution(ascending(queueing)),
    compute: distribution(ascending(compute)),
    latencyQuantilesNs: quantiles(sortedLatencies),
    p90OfFifthsNs: p90OfFifths(
      done.map((i) => [arrivals[i], ends[i] - arrivals[i]]),
    ),
    durationNs,
    throughputPerS: requests.done / (durationNs / NS_PER_S),
    ...rowMetrics(collector),
    workers,
    utilisation: busyNs / (workers * workedNs),
    deadlines: { requests: withDeadline, violated },
    cells: [...collector.cells].map(([cell, tally]) => ({ cell, ...tally })),
  };
}

function rowMetrics(
  collector: Collector,
): Pick<Metrics, "batch" | "paddingShare" | "speculativeShare"> {
  const histogram = [...collector.tasksByRows].sort(([a], [b]) => a - b);
  let tasks = 0;
  let rows = 0;
  let squares = 0;
  for (const [size, count] of histogram) {
    tasks += count;
    rows += size * count;
    squares += size * size * count;
  }
  let padding = 0;
  let speculative = 0;
  let tokens = 0;
  for (const tally of collector.cells.values()) {
    padding += tally.paddingTokens;
    speculative += tally.speculative;
    tokens += tally.tokens;
  }
  const all = tokens + padding + speculative;
  return {
    batch: {
      tasks,
      rows,
      meanRows: rows / tasks,
      meanRowsByRow: squares / rows,
      histogram,
    },
    paddingShare: padding / all,
    speculativeShare: speculative / all,
  };
}

function distribution(sorted: Float64Array): Distribution {
  return {
    meanNs: mean(sorted),
    p50Ns: percentile(sorted, 0.5),
    p90Ns: percentile(sorted, 0.9),
    p99Ns: percentile(sorted, 0.99),
    maxNs: percentile(sorted, 1),
  };
}

function quantiles(sorted: Float64Array): number[] {
  const points = Math.min(sorted.length, CDF_POINTS);
  // The product first: k / points would round, and the rank with it.
  return Array.from(
    { length: points },
    (_, k) => sorted[Math.ceil((k + 1) * sorted.length / points) - 1],
  );
}

function p90OfFifths(
  arrivalAndLatency: [arrivalNs: number, latencyNs: number][],
): number[] {
  const total = arrivalAndLatency.length;
  if (total < FIFTHS) return [];
  const latencies = arrivalAndLatency.sort(([a], [b]) => a - b).map((
    [, latencyNs],
  ) => latencyNs);
  return Array.from({ length: FIFTHS }, (_, k) => {
    const fifth = latencies.slice(
      Math.floor(k * total / FIFTHS),
      Math.floor((k + 1) * total / FIFTHS),
    );
    return percentile(ascending(fifth), 0.9);
  });
}
