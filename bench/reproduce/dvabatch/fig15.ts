/** Fig. 15: latencies while the load steps up. */
import { Prng } from "../../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import {
  stepping,
  type SteppingOptions,
} from "../../../src/workload/arrivals.ts";
import type { ChartData, Experiment } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { delayBatch } from "./evaluation.ts";
import { SERVING_CONDITIONS } from "./fig14.ts";
import { network, NETWORKS } from "./networks.ts";
import {
  costOf,
  dva,
  policyOf,
  SETUP,
  streamsOf,
  type System,
} from "./serving.ts";

/** Section 8.3: from 66/s; 4000/s after 30,000 queries. Assumption: every step is the same factor. */
const QUERIES = 30_000;
const EVERY = 2000;
const FIRST_PER_S = 66;
const LAST_PER_S = 4000;
const STEPS = QUERIES / EVERY;

export const STEPPING: SteppingOptions = {
  ratesPerS: Array.from(
    { length: STEPS + 1 },
    (_, step) => FIRST_PER_S * (LAST_PER_S / FIRST_PER_S) ** (step / STEPS),
  ),
  every: EVERY,
};

/** Points of a line. */
const GROUP = 500;

type Stepped = {
  /** 99th percentile of each group of queries, ms. */
  readonly p99Ms: readonly number[];
  /** Last step at which a step's mean and 99th percentile keep the target; 0 for none. */
  readonly peakPerS: number;
};

export function stepped(
  system: System,
  name: string,
  { seed, queries }: { seed: number; queries: number },
): Stepped {
  const { request } = network(name);
  const prng = new Prng(seed).fork(name);
  const inputs = prng.fork("inputs");
  const arrivals = stepping(STEPPING)
    .timesNs(queries, prng.fork("arrivals"))
    .map((arrivalNs) => ({ ...request(inputs), arrivalNs }));
  const { latenciesNs } = simulate({
    policy: policyOf(system, name),
    cost: costOf(system, name),
    workers: streamsOf(system),
    arrivals,
  });
  const p99Of = (from: number, to: number) =>
    percentile(ascending(latenciesNs.subarray(from, to)), 0.99) / NS_PER_MS;
  const groups = Math.ceil(queries / GROUP);
  let peak = 0;
  for (let step = 0; step * EVERY < queries; step++) {
    if (p99Of(step * EVERY, (step + 1) * EVERY) >= SETUP.qosMs) break;
    peak = STEPPING.ratesPerS![step];
  }
  return {
    p99Ms: Array.from(
      { length: groups },
      (_, i) => p99Of(i * GROUP, (i + 1) * GROUP),
    ),
    peakPerS: peak,
  };
}

export const fig15: Experiment = {
  id: "dvabatch.fig15",
  title: "Fig. 15: stepping load",
  claims: ["DV-14"],
  conditions: `${SERVING_CONDITIONS} Rates grow by one factor from step to ` +
    "step, as the paper gives the first and the last only; the last step's 2000 queries come on top of the 30,000.",
  async run(context) {
    const queries = context.quick ? QUERIES / 3 : QUERIES + EVERY;
    const charts: ChartData[] = [];
    const rows: (string | number)[][] = [];
    const names = context.quick ? NETWORKS.slice(0, 3) : NETWORKS;
    for (const name of names) {
      const { system, windowMs } = await delayBatch(context, name);
      const systems: readonly [string, System][] = [
        [`DelayBatch (${windowMs} ms)`, system],
        ["DVABatch", dva(name)],
      ];
      const found: Stepped[] = [];
      for (const [, system] of systems) {
        const settings = { seed: context.seed, queries };
        found.push(
          await context.point(
            { stepping: system, network: name, ...settings } as never,
            () => stepped(system, name, settings),
          ),
        );
      }
      charts.push({
        kind: "lines",
        title: `${name} at stepping load`,
        x: "query, in order",
        y: `99th percentile of ${GROUP} queries, ms`,
        logY: true,
        series: systems.map(([label], i) => ({
          name: label,
          points: found[i].p99Ms.map((y, group) => ({ x: group * GROUP, y })),
        })),
      });
      rows.push([
        name,
        ...found.map(({ peakPerS }) => peakPerS.toFixed(0)),
        ...found.map(({ p99Ms }) => mean(p99Ms.slice(0, 12)).toFixed(1)),
      ]);
    }
    const rates = STEPPING.ratesPerS!;
    const equal = (name: string, published: number, ours: number) => ({
      name,
      as: "equal" as const,
      published,
      ours,
    });
    return {
      findings: [{
        claim: "DV-14",
        compared: [
          equal("first rate, 1/s", 66, rates[0]),
          equal("queries of a step", 2000, STEPPING.every),
          equal(
            "queries before the last rate",
            30_000,
            (rates.length - 1) * STEPPING.every,
          ),
          equal("last rate, 1/s", 4000, Math.round(rates[rates.length - 1])),
        ],
      }],
      charts,
      tables: [{
        title:
          "Last step that keeps the target, 1/s; mean 99th percentile of the first 6000 queries, ms",
        columns: [
          "network",
          "DelayBatch",
          "DVABatch",
          "DelayBatch, ms",
          "DVABatch, ms",
        ],
        rows,
      }],
    };
  },
};
