/** Several servers on one virtual time, each an engine with a policy of its own, behind one balancer. */
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_S } from "../../src/base/units.ts";
import type { CurvePoints } from "../../src/base/curve.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { Collector } from "../../src/metrics/collector.ts";
import type { Metrics } from "../../src/metrics/metrics.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import { lstm } from "../../src/models/lstm.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { corpusLengths } from "../../src/workload/lengths.ts";
import { ROUTES } from "./route.ts";

/** What is simulated. */
export interface SpreadOptions {
  readonly servers: number;
  readonly route: string;
  readonly policy: string;
  readonly batchSizeMax: number;
  /** Models that every server could serve; a request is for any of them. */
  readonly models: number;
  /** Of all servers together. */
  readonly ratePerS: number;
  readonly requests: number;
  readonly seed: number;
  readonly cost: CurvePoints;
  readonly corpus: string;
}

/** What came of it. */
export interface Spread {
  readonly metrics: Metrics;
  /** Time in which a device was at work, per request done. */
  readonly deviceNsPerRequest: number;
  /** Requests that the busiest server had, over those of the mean one. */
  readonly imbalance: number;
}

/** Runs all requests to their ends. */
export function simulateServers(options: SpreadOptions): Spread {
  const { servers, requests, ratePerS, seed } = options;
  const prng = new Prng(seed);
  const models = Array.from(
    { length: options.models },
    () => lstm({ hidden: 1, vocabulary: 2 }),
  );
  const timeline = new Timeline();
  const cost = new TableCost({ lstm_step: options.cost });
  const collector = new Collector();
  const engines: EngineCore[] = [];
  for (let i = 0; i < servers; i++) {
    const executor: SimExecutor = new SimExecutor({
      ...{ timeline, cost, workers: 1 },
      onCompleted: (task, startNs, endNs) =>
        engines[i].completed(task, startNs, endNs),
    });
    engines.push(
      new EngineCore({
        ...{ models, executor, observer: collector },
        policy: POLICIES[options.policy].build({
          batchSizeMax: options.batchSizeMax,
        }),
      }),
    );
  }
  const sampler = corpusLengths(options.corpus);
  const drawing = prng.fork("lengths");
  const choosing = prng.fork("models");
  const asked = Array.from({ length: requests }, () => ({
    tokens: sampler.sample(drawing)[sampler.english],
    model: choosing.int(models.length),
  }));
  const route = ROUTES[options.route]({
    ...{ servers, models: models.length, prng: prng.fork("route") },
    lengths: asked.map(({ tokens }) => tokens),
  });
  const taken = new Array<number>(servers).fill(0);
  const states = engines.map((engine) => ({
    get waiting() {
      return engine.active;
    },
  }));
  poisson({ ratePerS }).timesNs(requests, prng.fork("arrivals")).forEach(
    (arrivalNs, i) =>
      timeline.at(arrivalNs, 1, () => {
        const to = route(asked[i], states);
        taken[to]++;
        engines[to].submit({
          ...{ model: models[asked[i].model], arrivalNs },
          input: { tokens: new Int32Array(asked[i].tokens) },
        });
      }),
  );
  let wakeNs = Infinity;
  while (timeline.advance()) {
    const { nowNs } = timeline;
    const nextNs = Math.min(...engines.map((engine) => engine.pump(nowNs)));
    if (nextNs < Infinity && (nextNs < wakeNs || wakeNs <= nowNs)) {
      wakeNs = nextNs;
      timeline.at(nextNs, 2, () => {});
    }
  }
  const metrics = summarize(collector, { workers: servers });
  const busyNs = collector.cells.values().reduce(
    (sum, { busyNs }) => sum + busyNs,
    0,
  );
  return {
    metrics,
    deviceNsPerRequest: busyNs / metrics.requests.done,
    imbalance: Math.max(...taken) * servers / requests,
  };
}

/**
 * The greatest rate at which the p99 is within a target, by halves, within 5 %. Beyond what the devices can do there is
 * none, however short the run is in which a queue has not grown yet.
 * @param targetNs p99
 * @param limitPerS what all devices together can do at most
 */
export function capacityPerS(
  options: Omit<SpreadOptions, "ratePerS">,
  targetNs: number,
  limitPerS: number,
): number {
  const holds = (ratePerS: number) =>
    simulateServers({ ...options, ratePerS }).metrics.latency.p99Ns <=
      targetNs;
  let low = limitPerS / 1000;
  let high = limitPerS;
  while (high / low > 1.05) {
    const middle = Math.sqrt(low * high);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Rows per second that a device computes at most, over the tokens of a request. */
export function deviceLimitPerS(
  cost: CurvePoints,
  corpus: string,
  seed: number,
): number {
  const [rows, ns] = cost[cost.length - 1];
  const sampler = corpusLengths(corpus);
  const prng = new Prng(seed);
  let tokens = 0;
  const draws = 10_000;
  for (let i = 0; i < draws; i++) {
    tokens += sampler.sample(prng)[sampler.english];
  }
  return rows / ns * NS_PER_S / (tokens / draws);
}
